"""Descriptions of learners of sessions: the numbers that follow, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidConfiguration
from holdfast.learners.mdp import MdpSpec, build_mdp
from holdfast.learners.mdp.catalogue import PREMIUM, RADIUS, insured_budget


def _spec(**changes: Any) -> MdpSpec:
    return MdpSpec(**{"dimension": 4, "episode_length": 5, **changes})


def test_the_ridge_is_the_square_of_the_radius_and_alpha_is_the_radius_over_the_budget() -> None:
    mdp = build_mdp(_spec(budget=0.5))
    assert mdp.function.ridge == pytest.approx(RADIUS**2)
    assert mdp.alpha == pytest.approx(RADIUS / 0.5)
    assert build_mdp(_spec(budget=0)).alpha == math.inf


def test_no_more_is_insured_than_the_premium_can_pay_for() -> None:
    assert insured_budget(_spec(horizon=10**9), 4) == pytest.approx(math.sqrt(10**9))
    assert insured_budget(_spec(horizon=1_000), 4) == pytest.approx(PREMIUM * 1_000 / 20)
    assert insured_budget(_spec(horizon=1_000, budget=100.0), 4) == pytest.approx(PREMIUM * 1_000 / 20)
    assert insured_budget(_spec(horizon=1_000, premium=0.1), 4) == pytest.approx(0.1 * 1_000 / 20)
    assert insured_budget(_spec(horizon=10**9, stationary=True, budget=3.0), 4) == pytest.approx(15.0)


@pytest.mark.parametrize(
    "function", [{"kind": "linear"}, {"kind": "quadratic"}, {"kind": "fourier"}, {"kind": "kernel"}]
)
@pytest.mark.parametrize("stationary", [False, True])
def test_every_class_that_can_be_refitted_makes_a_learner(function: dict[str, Any], stationary: bool) -> None:
    mdp = build_mdp(_spec(function=function, stationary=stationary))
    assert mdp.decide(mdp.init(), 5, np.eye(4), 0).chosen in range(4)


def test_near_states_are_one_for_a_kernel_and_apart_for_a_linear_class() -> None:
    fourier = {"kind": "fourier", "kernel": "rbf", "length_scale": 0.4}
    assert build_mdp(_spec(function=fourier)).rounding == pytest.approx(0.1)
    assert build_mdp(_spec()).rounding == 0.0
    assert not build_mdp(_spec(dimension=1, function={"kind": "tabular", "cells": 9})).divisible


@pytest.mark.parametrize(
    "changes",
    [
        {"episode_length": 0},
        {"episode_length": 1.5},
        {"stationary": 1},
        {"function": {"kind": "logistic"}},
        {"function": {"kind": "finite", "candidates": [[1.0, 0.0, 0.0, 0.0]]}},
        {"function": {}},
        {"radius": "theory"},
        {"budget": -1.0},
        {"budget": 1e-9},
        {"budget": "none"},
        {"premium": 0.0},
        {"step_max": 0.1},
        {"step_max": 1.1},
        {"horizon": 0},
        {"exploration_floor": 2.0},
        {"dimension": 1, "function": {"kind": "tabular", "cells": 100_000}},
        {"dimension": 2_000, "episode_length": 20},
    ],
    ids=str,
)
def test_what_cannot_be_built_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration):
        build_mdp(_spec(**changes))
