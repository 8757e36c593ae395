"""When to ask again: arithmetic."""

import pytest

from holdfast_client.errors import HoldfastError, NoAnswer, Problem, TimedOut, UnexpectedAnswer, refusal
from holdfast_client.retries import Course, Retries, backoff_s, may_pass


def _refused(status: int, retry_after_s: float | None = None) -> HoldfastError:
    return refusal(status)(Problem(status, "x", "X", "x"), None, retry_after_s)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again(status: int) -> None:
    assert may_pass(_refused(status))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 501, 505])
def test_what_cannot_change_is_not(status: int) -> None:
    assert not may_pass(_refused(status))


def test_no_answer_may_pass_and_a_strange_one_may_not() -> None:
    assert may_pass(NoAnswer("reset"))
    assert may_pass(TimedOut("slow"))
    assert not may_pass(UnexpectedAnswer("a page", 200))
    assert not may_pass(HoldfastError())


def test_pauses_double_up_to_their_maximum_and_jitter_shortens_them_by_at_most_a_half() -> None:
    policy = Retries(first_pause_s=1.0, pause_s_max=6.0)
    assert [backoff_s(policy, failed, 0.0) for failed in (1, 2, 3, 4, 5)] == [1.0, 2.0, 4.0, 6.0, 6.0]
    assert backoff_s(policy, 4, 0.999) == pytest.approx(3.0, abs=0.01)
    assert backoff_s(policy, 10_000, 0.0) == 6.0


@pytest.mark.parametrize(("asked_s", "pause_s"), [(None, 0.1), (0.0, 0.1), (3.0, 3.0), (3600.0, 30.0)])
def test_retry_after_lengthens_a_pause_up_to_its_cap(asked_s: float | None, pause_s: float) -> None:
    course = Course(Retries(), deadline=100.0, attempts=1)
    assert course.pause_s(_refused(503, asked_s), now=0.0, draw=0.0) == pause_s


def test_a_pause_that_would_outlast_the_deadline_is_not_begun() -> None:
    course = Course(Retries(first_pause_s=1.0), deadline=2.0, attempts=1)
    assert course.pause_s(NoAnswer("reset"), now=0.9, draw=0.0) == 1.0
    assert course.pause_s(NoAnswer("reset"), now=1.1, draw=0.0) is None


def test_an_attempt_takes_half_of_what_is_left_and_the_last_one_all_of_it() -> None:
    course = Course(Retries(most=2), deadline=2.0)
    assert [course.begin_attempt(now) for now in (0.0, 1.0, 1.5)] == [1.0, 0.5, 0.5]
    assert course.pause_s(NoAnswer("reset"), now=1.6, draw=0.0) is None
    assert course.begin_attempt(9.0) > 0.0


def test_what_must_not_be_repeated_is_repeated_only_if_nothing_was_done() -> None:
    course = Course(Retries(), deadline=100.0, repeatable=False, attempts=1)
    assert course.pause_s(NoAnswer("refused", nothing_sent=True), 0.0, 0.0) is not None
    assert course.pause_s(_refused(429), 0.0, 0.0) is not None
    assert course.pause_s(NoAnswer("reset"), 0.0, 0.0) is None
    assert course.pause_s(_refused(503), 0.0, 0.0) is None
