"""The bucket, on a clock that the test owns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.api import limits
from holdfast.api.limits import Limits
from holdfast.errors import TooMany


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def _allowed(bucket: Limits, cost: float, who: str = "key") -> bool:
    try:
        bucket.charge(who, cost)
    except TooMany:
        return False
    return True


def test_a_full_bucket_gives_its_burst_and_then_the_rate() -> None:
    clock = Clock()
    bucket = Limits(rate=10, burst=50, clock=clock)
    assert [_allowed(bucket, 10) for _ in range(7)] == [True] * 5 + [False] * 2
    clock.now += 1.0
    assert [_allowed(bucket, 10) for _ in range(2)] == [True, False]


def test_after_the_wait_it_names_a_refused_request_is_let_through() -> None:
    clock = Clock()
    bucket = Limits(rate=3, burst=30, clock=clock)
    bucket.charge("key", 30)
    with pytest.raises(TooMany) as refused:
        bucket.charge("key", 7)
    assert refused.value.retry_after_s == 3
    clock.now += refused.value.retry_after_s
    bucket.charge("key", 7)


def test_a_request_beyond_the_burst_needs_a_full_bucket_and_leaves_a_debt() -> None:
    clock = Clock()
    bucket = Limits(rate=10, burst=50, clock=clock)
    bucket.charge("key", 250)
    with pytest.raises(TooMany) as refused:
        bucket.charge("key", 1)
    assert refused.value.retry_after_s == 21  # 200 of debt, and 1
    clock.now += 24.9
    assert not _allowed(bucket, 250)
    clock.now += 0.1
    assert _allowed(bucket, 250)


def test_one_key_does_not_spend_anothers_share() -> None:
    bucket = Limits(rate=1, burst=10, clock=Clock())
    bucket.charge("greedy", 10)
    assert not _allowed(bucket, 1, "greedy")
    assert _allowed(bucket, 10, "modest")


def test_without_a_rate_there_is_no_limit() -> None:
    bucket = Limits()
    assert all(_allowed(bucket, 1e12) for _ in range(100))


def test_the_number_of_buckets_is_bounded_and_the_longest_at_rest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BUCKETS_MAX", 3)
    bucket = Limits(rate=1, burst=10, clock=Clock())
    for who in ("a", "b", "c", "a", "d"):
        bucket.charge(who, 5)
    assert list(bucket._buckets) == ["c", "a", "d"]


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.1, 100)), max_size=60))
def test_no_more_is_let_through_than_burst_and_rate_and_one_debt_allow(asked: list[tuple[float, float]]) -> None:
    clock = Clock()
    bucket = Limits(rate=7, burst=40, clock=clock)
    spent, last = 0.0, 0.0
    for pause, cost in asked:
        clock.now += pause
        if _allowed(bucket, cost):
            before, last = spent, cost
            spent += cost
            assert before + min(last, 40) <= 40 + 7 * (clock.now - 1_000.0) + 1e-5
