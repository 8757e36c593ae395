"""What the adversary cannot do, and that the truth is never ruled out: the promises the paper proves."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from holdfast.functions import Linear
from holdfast.learners import Bandit, BanditSpec, build_bandit
from holdfast.learners.noise import GivenNoise
from holdfast.learners.radius import Confidence, Practical
from tests.contracts import CASES, Case, folded_bandit, linear_rewards, points, unit_rows, worst_corruption


def _insured(**changes: Any) -> Bandit[Any]:
    return build_bandit(BanditSpec(**{"dimension": 4, "budget": 5.0, **changes}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_weight_is_above_one_and_no_weighted_width_above_alpha(case: Case) -> None:
    """σ² ≥ 1 and b/σ² ≤ α at the moment of insertion: the two facts behind every bound."""
    bandit = Bandit(case.function, Practical(6.0, 0.05, case.function.ridge, 1.0, 0.2, 0.6), GivenNoise(0.1))
    state = bandit.init()
    x = points(case.function, 300, seed=11)
    shares = []
    for row in x:
        alpha = state.alpha
        state, info = bandit.update(state, row, 0.5, donate=True)
        assert 0.0 < info.weight <= 1.0
        assert info.weight * info.uncertainty <= alpha * (1 + 1e-12)
        shares.append(info.weight)
    assert min(shares) < 1.0


def test_alpha_never_falls_even_when_the_noise_estimate_does() -> None:
    bandit = _insured(noise="auto")
    state, alphas, levels = bandit.init(), [], []
    for round_ in range(500):
        state, _ = bandit.update(state, np.eye(4)[round_ % 4], 0.5)
        alphas.append(state.alpha)
        levels.append(bandit.noise.level_of(state.noise))
    assert levels[-1] < levels[0]
    assert (np.diff(alphas) >= 0.0).all()


@pytest.mark.parametrize("order", ["in time", "late and out of order"])
def test_the_insured_budget_moves_no_prediction_by_more_than_the_insurance(order: str) -> None:
    """The adversary is a linear program over the whole corruption; |shift| ≤ α·ζ̄·b(z) = (β − sR)·b(z)."""
    budget = 3.0
    bandit = _insured(budget=budget, noise=0.1)
    x = points(bandit.function, 80, seed=2)
    y = linear_rewards(x, seed=2)
    if order != "in time":
        mixed = np.random.default_rng(3).permutation(len(x))
        x, y = x[mixed], y[mixed]
    state, infos = folded_bandit(bandit, x, y)
    weights = np.array([info.weight for info in infos])
    assert weights.min() < 1.0
    inverse = state.function.root @ state.function.root.T
    for z in points(bandit.function, 8, seed=4):
        influence = (x @ inverse @ z) * weights  # f̂(z) = Σ influence_s r_s
        corruption = worst_corruption(influence, y, budget)
        corrupt, _ = folded_bandit(bandit, x, np.clip(y + corruption, 0.0, 1.0))
        shift = abs(z @ (corrupt.function.theta - state.function.theta))
        width = bandit.function.evaluate(state.function, z[None, :])[1][0]
        assert math.isclose(shift, abs(influence @ corruption), rel_tol=1e-6)  # the attack did what it promised
        assert shift <= state.alpha * budget * width * (1 + 1e-9)


BUDGET = 12.0
THETA = np.array([0.6, 0.5, -0.3])
R_AT_ONE = Practical(BUDGET, 0.05, 0.5, 1.0, scale=1.0, insurance=0.6)


@dataclass(frozen=True)
class Unweighted:
    """The insured radius with every weight left at 1."""

    insured: Practical
    budget: float = 0.0

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        return Confidence(math.inf, self.insured.confidence(noise, log_complexity, 0.0).beta)


def _stays_within_its_radius(bandit: Bandit[Any]) -> bool:
    """Whether ‖θ̂ − θ*‖_Λ ≤ β in every round, while the first rewards of BUDGET units are all reported as 0."""
    rng = np.random.default_rng(bandit.seed)
    state, left = bandit.init(), BUDGET
    gram = bandit.function.ridge * np.eye(3)
    for t in range(250):
        options = unit_rows(rng, 6, 3)
        options *= np.sign(options @ THETA)[:, None]  # means that are rewards
        z = options[bandit.decide(state, options, t).chosen]
        mean = float(z @ THETA)
        honest = mean + min(0.1, mean) * rng.uniform(-1, 1)
        shown = 0.0 if honest <= left else honest
        left -= honest - shown
        state, info = bandit.update(state, z, shown)
        gram += info.weight * np.outer(z, z)
        gap = state.function.theta - THETA
        if gap @ gram @ gap > state.beta**2:
            return False
    assert left < 1.0
    return True


def _share_within_radius(radius: Any, seeds: int) -> float:
    bandits = (Bandit(Linear(3, ridge=0.5), radius, GivenNoise(0.1), seed=seed) for seed in range(seeds))
    return sum(map(_stays_within_its_radius, bandits)) / seeds


def test_optimism_the_truth_stays_within_the_whole_practical_radius() -> None:
    """At s = 1 the practical radius is itself a theorem: R for the noise plus αζ̄ for the corruption."""
    assert _share_within_radius(R_AT_ONE, 60) >= 0.95


def test_without_the_weights_the_same_radius_does_not_hold() -> None:
    assert _share_within_radius(Unweighted(R_AT_ONE), 20) <= 0.2


def test_without_the_insurance_the_same_attack_leaves_the_radius() -> None:
    assert _share_within_radius(Practical(0.0, 0.05, 0.5, 1.0, scale=1.0, insurance=0.0), 20) <= 0.2


def test_optimism_the_truth_stays_in_the_confidence_set_with_the_theory_radius() -> None:
    spec = BanditSpec(dimension=3, radius="theory", budget=BUDGET, horizon=250, noise=0.1)
    assert all(_stays_within_its_radius(build_bandit(replace(spec, seed=seed))) for seed in range(30))


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_with_the_theory_radius_no_score_is_ever_below_the_truth(kind: str, norm: float) -> None:
    """One arm, no noise, the longest parameter the class admits: regularisation must not hide what it is worth."""
    function = {"kind": kind, "norm": norm}
    bandit = build_bandit(BanditSpec(1, function, radius="theory", budget=0, horizon=2_000, noise=0.1))
    arm = np.array([[1.0 / norm]]) if kind == "linear" else np.ones((1, 1))
    truth = 1.0 if kind == "linear" else 1.0 / (1.0 + math.exp(-norm))
    state = bandit.init()
    for t in range(500):
        assert bandit.decide(state, arm, t).score[0] >= truth - 1e-9
        state, _ = bandit.update(state, arm[0], truth, donate=True)


@pytest.mark.parametrize("radius", ["practical", "theory"])
@pytest.mark.parametrize("budget", [0.0, 10.0])
def test_a_finite_class_does_not_drop_the_truth(radius: Any, budget: float) -> None:
    """Its sets are nested: a truth dropped once is never found again. Clicks, so that noise is as large as it gets."""
    kept = 0
    for seed in range(40):
        rng = np.random.default_rng((seed, 7))
        candidates = np.abs(unit_rows(rng, 20, 3)) * 0.9
        spec = BanditSpec(3, {"kind": "finite", "candidates": candidates.tolist()}, budget, radius=radius, seed=seed)
        bandit = build_bandit(spec)
        options, truth = np.abs(unit_rows(rng, 6, 3)), candidates[0]
        state, left = bandit.init(), budget
        for t in range(1_000):
            chosen = bandit.decide(state, options, t).chosen
            click = float(rng.random() < options[chosen] @ truth)
            shown = 0.0 if click <= left else click
            left -= click - shown
            state, _ = bandit.update(state, options[chosen], shown, donate=True)
        kept += state.function.alive[0]
    assert kept >= 0.95 * 40


def test_the_eluder_potential_stays_below_its_logarithmic_bound() -> None:
    bandit = _insured()
    state, infos = folded_bandit(bandit, points(bandit.function, 2_000, seed=5), np.full(2_000, 0.5), donate=True)
    assert math.isclose(state.potential, sum(info.d_squared for info in infos), rel_tol=1e-12)
    assert state.potential <= 2.0 * state.function.log_det
    assert state.function.log_det <= 4 * math.log1p(2_000 / (4 * bandit.function.ridge))


def test_d_squared_is_never_above_one() -> None:
    bandit = _insured(budget=0, noise=0.01)
    _, info = bandit.update(bandit.init(), np.eye(4)[0], 0.5)
    assert info.weight * info.uncertainty**2 > 1.0
    assert info.d_squared == 1.0


def test_with_budget_zero_every_reward_counts_fully() -> None:
    bandit = _insured(budget=0)
    _, infos = folded_bandit(bandit, points(bandit.function, 50, seed=6), np.full(50, 0.5))
    assert {info.weight for info in infos} == {1.0}


def test_an_unseen_unit_point_starts_at_the_cap() -> None:
    for budget in (0, 5.0):
        for noise in (0.02, 0.1, "auto"):
            for kind in ("linear", "logistic", "quadratic", "fourier", "kernel", "tabular"):
                function = {"kind": kind, "cells": 4} if kind == "tabular" else {"kind": kind}
                dimension, options = (1, np.arange(4.0)[:, None]) if kind == "tabular" else (4, np.eye(4))
                bandit = _insured(dimension=dimension, budget=budget, noise=noise, function=function)
                assert bandit.decide(bandit.init(), options, 0).score.min() >= 1.0 - 1e-9
