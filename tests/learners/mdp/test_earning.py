"""Rewards of episodes: their sum is mapped onto [0, 1], whatever the split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidConfiguration, InvalidInput
from holdfast.learners.mdp import EpisodeRule


@given(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), st.floats(-5.0, 0.0), st.floats(0.5, 5.0))
def test_the_sum_of_an_episode_is_mapped_onto_the_unit_range(
    shares: list[float], minimum: float, maximum: float
) -> None:
    rule = EpisodeRule(4, minimum, maximum, out_of_range="clip")
    total = sum(shares) or 1.0
    values = [minimum / 4 + rule.width * share / total / 2 for share in shares]
    told: list[float] = []
    for value in values:
        told.append(rule.scaled(value, told))
    assert sum(told) == pytest.approx((sum(values) - minimum) / rule.width, abs=1e-9)
    assert all(0.0 <= worth <= 1.0 for worth in told)


def test_a_reward_beyond_its_step_or_its_episode_is_refused_or_clipped() -> None:
    strict = EpisodeRule(4, maximum=8.0, step_max=4.0)
    assert strict.share == 0.5
    for value, told in ((4.1, []), (-0.1, []), (4.0, [0.3, 0.3]), (float("nan"), []), (1e13, [])):
        with pytest.raises(InvalidInput):
            strict.scaled(value, told)
    clipping = EpisodeRule(4, maximum=8.0, step_max=4.0, out_of_range="clip")
    assert [clipping.scaled(value, told) for value, told in ((5.0, []), (-1.0, []), (4.0, [0.4, 0.4]))] == [
        0.5,
        0.0,
        pytest.approx(0.2),
    ]


def test_decimal_splits_of_the_whole_are_accepted() -> None:
    rule, told = EpisodeRule(10), []
    for _ in range(10):
        told.append(rule.scaled(0.1, told))
    assert sum(told) <= 1.0


def test_steps_that_were_not_taken_add_a_reward_of_zero_each() -> None:
    costs = EpisodeRule(5, minimum=-5.0, maximum=0.0)
    told = [costs.scaled(-1.0), costs.scaled(-1.0)]
    assert sum(told) + costs.padding(3, told) == pytest.approx((-2.0 + 5.0) / 5.0)
    assert EpisodeRule(5).padding(3, [0.2]) == 0.0


def test_silence_is_worth_the_default_or_nothing() -> None:
    assert EpisodeRule(2).silence([]) is None
    assert EpisodeRule(2, default=0.4).silence([0.1]) == pytest.approx(0.4)
    assert EpisodeRule(2, default=0.4).silence([0.9]) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"length": 0},
        {"minimum": 0.1},
        {"maximum": 0.0},
        {"step_max": 0.1},
        {"step_max": 1.1},
        {"minimum": -1.0, "step_max": 0.5},
        {"default": 1.5},
        {"default": -0.5},
        {"out_of_range": "ignore"},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidConfiguration):
        EpisodeRule(**({"length": 4} | wrong))
