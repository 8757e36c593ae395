import math
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidConfiguration
from holdfast.functions import CLASSES, Fourier, KernelRidge
from holdfast.learners import BanditSpec, build_bandit
from holdfast.learners.catalogue import build_function
from holdfast.learners.noise import EstimatedNoise, GivenNoise
from holdfast.learners.radius import Practical, Theory


def test_every_function_kind_can_be_built_by_name() -> None:
    for kind in CLASSES:
        extra: dict[str, Any] = {"finite": {"candidates": ((0.1,), (0.2,))}, "tabular": {"cells": 5}}.get(kind, {})
        bandit = build_bandit(BanditSpec(dimension=1, function={"kind": kind, **extra}))
        assert type(bandit.function) is CLASSES[kind]


def test_parameters_reach_the_function_and_its_kernel() -> None:
    description = {"kind": "kernel", "kernel": "matern", "length_scale": 0.3, "smoothness": 1.5, "core_size": 50}
    function = build_bandit(BanditSpec(dimension=2, function=description)).function
    assert isinstance(function, KernelRidge)
    assert (function.kernel.kind, function.kernel.length_scale, function.core_size) == ("matern", 0.3, 50)
    fourier = build_bandit(BanditSpec(dimension=2, function={"kind": "fourier", "length_scale": 0.2})).function
    assert isinstance(fourier, Fourier)
    assert fourier.kernel.length_scale == 0.2


def test_auto_budget_is_the_root_of_the_horizon_but_no_more_than_the_premium_pays_for() -> None:
    rich = build_bandit(BanditSpec(dimension=2, horizon=1_000_000))
    poor = build_bandit(BanditSpec(dimension=100, horizon=10_000, premium=0.02))
    assert rich.radius.budget == math.sqrt(1_000_000)
    assert poor.radius.budget == 0.02 * 10_000 / 100


def test_noise_is_estimated_unless_given() -> None:
    assert isinstance(build_bandit(BanditSpec(dimension=2)).noise, EstimatedNoise)
    assert build_bandit(BanditSpec(dimension=2, noise=0.3)).noise == GivenNoise(0.3)


def test_every_function_kind_works_with_the_theory_radius() -> None:
    for kind in CLASSES:
        extra: dict[str, Any] = {"finite": {"candidates": ((0.1,),)}, "tabular": {"cells": 1}}.get(kind, {})
        bandit = build_bandit(BanditSpec(dimension=1, function={"kind": kind, **extra}, radius="theory"))
        state, info = bandit.update(bandit.init(), np.zeros(1), 0.5)
        assert math.isfinite(state.beta)
        assert math.isfinite(info.uncertainty)


def test_the_theory_radius_sets_ridge_and_radius_from_the_covering_number() -> None:
    bandit = build_bandit(BanditSpec(dimension=3, radius="theory", budget=10.0, horizon=1_000))
    log_covering = bandit.function.log_covering(1.0 / (1_000 * 10.0))
    assert bandit.function.ridge == log_covering / 4.0  # λ/(4B²)
    assert bandit.init().alpha == math.sqrt(log_covering) / 10.0


def test_a_small_budget_does_not_make_the_theory_net_coarser_than_one_over_the_horizon() -> None:
    bandit = build_bandit(BanditSpec(dimension=3, radius="theory", budget=0.01, horizon=1_000))
    assert isinstance(bandit.radius, Theory)
    assert bandit.radius.log_covering == bandit.function.log_covering(1.0 / 1_000)


@pytest.mark.parametrize(("budget", "scale", "insurance"), [(0, 0.3, 0.0), (7.0, 0.15, 0.6)])
def test_the_practical_radius_is_built_with_the_published_constants(
    budget: float, scale: float, insurance: float
) -> None:
    bandit = build_bandit(BanditSpec(dimension=3, budget=budget, function={"kind": "linear", "norm": 2.0}))
    assert bandit.radius == Practical(budget, 0.05, bandit.function.ridge, 2.0, scale, insurance)
    assert bandit.noise == EstimatedNoise(prior=0.25, prior_count=10.0)


def test_auto_budget_counts_the_parameters_of_the_class_not_the_length_of_the_features() -> None:
    bandit = build_bandit(BanditSpec(dimension=4, horizon=10_000, function={"kind": "quadratic"}))
    assert bandit.radius.budget == 0.01 * 10_000 / 15


def test_a_finite_class_counts_as_many_parameters_as_it_can_tell_apart() -> None:
    few = build_function({"kind": "finite", "candidates": ((0.1, 0.2), (0.2, 0.1))}, 2)
    many = build_function({"kind": "finite", "candidates": tuple((0.1, i / 10) for i in range(9))}, 2)
    assert (few.parameters, many.parameters) == (1, 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"dimension": 0},
        {"horizon": 0},
        {"confidence": 0.0},
        {"premium": 0.0},
        {"premium": 1.5},
        {"budget": -1.0},
        {"budget": math.inf},
        {"budget": math.nan},
        {"noise": 0.0},
        {"noise": 0.6},
        {"noise": math.nan},
        {"exploration_floor": -0.1},
        {"exploration_floor": 1.1},
        {"radius": "guess"},
        {"seed": -1},
        {"function": {"kind": "forest"}},
        {"function": {}},
        {"function": {"kind": "linear", "depth": 3}},
        {"function": {"kind": "kernel", "kernel": "cubic"}},
        {"function": {"kind": "finite", "candidates": ((0.1,),)}},
        {"function": {"kind": "tabular", "cells": 5}},
        {"function": "linear"},
        {"function": {"kind": ["linear"]}},
        {"function": {"kind": "linear", "ridge": 5.0}},
        {"function": {"kind": "linear", "dimension": 2}},
        {"function": {"kind": "finite"}},
        {"function": {"kind": "finite", "candidates": ((1e30, 0.1),)}},
        {"function": {"kind": "linear", "norm": 1e300}},
        {"function": {"kind": "kernel", "length_scale": 1e-320}},
        {"function": {"kind": "kernel", "smoothness": np.array([1.5])}},
        {"budget": False},
        {"budget": 1e-300},
        {"function": {"kind": "linear", "norm": 1e-300}},
        {"budget": 10**400},
        {"budget": np.array([1.0, 2.0])},
        {"noise": 1e-160},
        {"exploration_floor": False},
        {"dimension": 2.0},
        {"dimension": True},
        {"dimension": 4_000},
        {"horizon": 1e5},
        {"seed": "0"},
        {"confidence": 0.9},
        {"budget": "much"},
        {"budget": True},
        {"noise": "some"},
        {"exploration_floor": "x"},
    ],
)
def test_a_description_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration):
        build_bandit(BanditSpec(**{"dimension": 2, **changes}))
