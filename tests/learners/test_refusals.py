"""What a learner refuses, and that a refusal has changed nothing even where the state was donated."""

import math
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidInput
from holdfast.learners import Bandit, BanditSpec, BanditState, build_bandit, codec
from holdfast.learners.noise import GivenNoise
from holdfast.learners.radius import Practical
from tests.contracts import CASES, Case, points


def _learned(bandit: Bandit[Any]) -> BanditState:
    state = bandit.init()
    for row in points(bandit.function, 5, seed=10):
        state, _ = bandit.update(state, row, 0.5)
    return state


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(1), 1, 0])
def test_any_kind_of_number_is_a_reward_and_leaves_a_state_that_can_be_saved(number: Any) -> None:
    bandit = build_bandit(BanditSpec(dimension=4, budget=5.0))
    state, _ = bandit.update(bandit.init(), np.eye(4)[0], number)
    codec.decode(codec.encode(state), like=bandit.init())


@pytest.mark.parametrize("position", [-1, 1.5, "x", None])
def test_a_position_that_is_no_place_in_a_log_is_refused(position: Any) -> None:
    bandit = build_bandit(BanditSpec(dimension=4, budget=5.0))
    with pytest.raises(InvalidInput):
        bandit.decide(bandit.init(), np.eye(4), position)


@pytest.mark.parametrize("reward", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None, [0.5], 1j])
def test_a_reward_that_is_no_number_in_the_unit_interval_is_refused_and_nothing_is_lost(reward: float) -> None:
    bandit = build_bandit(BanditSpec(dimension=4, budget=5.0))
    state = _learned(bandit)
    before = codec.encode(state)
    with pytest.raises(InvalidInput):
        bandit.update(state, np.eye(4)[0], reward, donate=True)
    assert codec.encode(state) == before


@pytest.mark.parametrize(
    "bad",
    [
        lambda d: np.full(d, math.nan),
        lambda d: np.full(d, math.inf),
        lambda d: np.full(d, 1e200),
        lambda d: np.full(d, 50.0),
        lambda d: np.full(d, 0.1 + 0j),
        lambda d: np.full(d, 0.1, dtype=np.float32),
        lambda d: np.full(d + 1, 0.1),
        lambda d: np.zeros((0, d)),
        lambda d: np.zeros((1, 1, d)),
        lambda d: [0.1] * d,
        lambda d: None,
    ],
    ids=["nan", "inf", "huge", "too-long", "complex", "single", "wrong-length", "empty", "3-d", "list", "none"],
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_features_that_are_no_points_are_refused_and_nothing_is_lost(case: Case, bad: Any) -> None:
    bandit = Bandit(case.function, Practical(0.0, 0.05, case.function.ridge, 1.0, 0.3, 0.0), GivenNoise(0.1))
    state = _learned(bandit)
    before = codec.encode(state)
    wrong = bad(case.function.dimension)
    with pytest.raises(InvalidInput):
        bandit.update(state, wrong, 0.5, donate=True)
    with pytest.raises(InvalidInput):
        bandit.decide(state, wrong[None, :] if isinstance(wrong, np.ndarray) and wrong.ndim == 1 else wrong, 0)
    assert codec.encode(state) == before
