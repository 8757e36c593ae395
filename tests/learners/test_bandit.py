"""CR-Eluder-UCB against a transcription of Algorithm 1, its own guarantees, and its seeded choices."""

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

from holdfast.arrays import Array
from holdfast.errors import InvalidInput
from holdfast.functions import Finite, Linear
from holdfast.learners import Bandit, BanditSpec, BanditState, build_bandit, codec
from holdfast.learners.noise import GivenNoise
from holdfast.learners.radius import Confidence, Practical
from tests.contracts import CASES, Case, _weights, points
from tests.oracles import AlgorithmOne


class FixedRadius(NamedTuple):
    """α and β as a test wants them."""

    alpha: float
    beta: float
    budget: float = 1.0

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        return Confidence(self.alpha, self.beta)


def _unit_rows(rng: np.random.Generator, count: int, dimension: int) -> Array:
    rows = rng.normal(size=(count, dimension))
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _folded(bandit: Bandit[Any], x: Array, y: Array, donate: bool = False) -> tuple[BanditState, list[Any]]:
    state, infos = bandit.init(), []
    for row, value in zip(x, y, strict=True):
        state, info = bandit.update(state, row, float(value), donate)
        infos.append(info)
    return state, infos


def _rewards(x: Array, seed: int) -> Array:
    rng = np.random.default_rng((seed, 3))
    clipped: Array = np.clip(0.5 + 0.4 * x @ _unit_rows(rng, 1, x.shape[1])[0] + 0.1 * rng.normal(size=len(x)), 0, 1)
    return clipped


def _bandit(**changes: Any) -> Bandit[Any]:
    return build_bandit(BanditSpec(**{"dimension": 4, "budget": 5.0, **changes}))


# Algorithm 1 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_finite_class_equals_brute_force_algorithm_one(seed: int) -> None:
    """Weights, confidence sets, fits and actions on random instances, at radii that keep and that drop functions."""
    rng = np.random.default_rng((seed, 99))
    ridge, alpha, beta = rng.uniform(0.3, 3.0), rng.uniform(0.05, 0.5), rng.uniform(0.6, 1.5)
    candidates = _weights(seed, int(rng.integers(5, 40)), 3)
    truth = np.array(candidates[int(rng.integers(len(candidates)))])
    bandit = Bandit(Finite(candidates, ridge), FixedRadius(alpha, beta), GivenNoise(0.1))
    oracle = AlgorithmOne(np.array(candidates), ridge, alpha, beta)
    state, dropped = bandit.init(), False
    for t in range(60):
        best = oracle.stage()
        assert state.function.best == best
        assert np.flatnonzero(state.function.alive).tolist() == oracle.possible
        options = _unit_rows(rng, 5, 3)
        decision = bandit.decide(state, options, position=t)
        assert decision.chosen == oracle.act(options)
        z = options[decision.chosen]
        reward = float(np.clip(0.5 + 0.5 * z @ truth + 0.1 * rng.normal(), 0, 1))
        sigma_squared = oracle.learn(z, reward, best)
        state, info = bandit.update(state, z, reward)
        assert math.isclose(info.weight, 1.0 / sigma_squared, rel_tol=1e-9)
        dropped = dropped or len(oracle.possible) < len(candidates)
    assert dropped


# What the adversary cannot do ----------------------------------------------------------------------------------------


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
    bandit = _bandit(noise="auto")
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
    bandit = _bandit(budget=budget, noise=0.1)
    x = points(bandit.function, 80, seed=2)
    y = _rewards(x, seed=2)
    if order != "in time":
        mixed = np.random.default_rng(3).permutation(len(x))
        x, y = x[mixed], y[mixed]
    state, infos = _folded(bandit, x, y)
    weights = np.array([info.weight for info in infos])
    assert weights.min() < 1.0
    inverse = state.function.root @ state.function.root.T
    for z in points(bandit.function, 8, seed=4):
        influence = (x @ inverse @ z) * weights  # f̂(z) = Σ influence_s r_s
        n = len(x)
        plan = linprog(
            -np.concatenate([influence, -influence]),
            A_ub=np.ones((1, 2 * n)),
            b_ub=[budget],
            bounds=[(0.0, 1.0 - v) for v in y] + [(0.0, v) for v in y],
        )
        corrupt, _ = _folded(bandit, x, np.clip(y + plan.x[:n] - plan.x[n:], 0.0, 1.0))
        shift = abs(z @ (corrupt.function.theta - state.function.theta))
        width = bandit.function.evaluate(state.function, z[None, :])[1][0]
        assert math.isclose(shift, -plan.fun, rel_tol=1e-6)  # the attack really did what the program promised
        assert shift <= state.alpha * budget * width * (1 + 1e-9)


def _radius_is_kept(bandit: Bandit[Any], theta: Array, seed: int, corruption: float, radius_of: Any) -> bool:
    """Whether ‖θ̂ − θ*‖ stays within the radius in every round of an attacked run."""
    rng = np.random.default_rng(seed)
    state, left = bandit.init(), corruption
    gram = bandit.function.ridge * np.eye(len(theta))
    for t in range(250):
        options = _unit_rows(rng, 6, len(theta))
        z = options[bandit.decide(state, options, t).chosen]
        honest = float(np.clip(z @ theta + 0.1 * rng.uniform(-1, 1), 0.0, 1.0)) if z @ theta > 0.1 else 0.0
        if z @ theta <= 0.1:
            continue  # keep the problem realisable: only points whose mean is a reward
        shown = 0.0 if honest <= left else honest
        left -= honest - shown
        state, info = bandit.update(state, z, shown)
        gram += info.weight * np.outer(z, z)
        gap = state.function.theta - theta
        if gap @ gram @ gap > radius_of(state) ** 2:
            return False
    return left < 0.5 * corruption


def test_optimism_the_truth_stays_in_the_confidence_set_with_the_theory_radius() -> None:
    theta = np.array([0.6, 0.5, -0.3])
    kept = 0
    for seed in range(30):
        bandit = _bandit(dimension=3, radius="theory", budget=4.0, horizon=250, noise=0.1, seed=seed)
        ridge = bandit.function.ridge
        # λ + Σ(f_b − f̂)²/σ² ≤ β² is the set; ours adds λ‖θ̂ − θ*‖² ≤ 4λ.
        kept += _radius_is_kept(bandit, theta, seed, 4.0, lambda state, r=ridge: math.sqrt(state.beta**2 + 4 * r))
    assert kept >= 0.95 * 30


def test_optimism_the_truth_stays_within_the_whole_practical_radius() -> None:
    """At s = 1 the practical radius is itself a theorem: R for the noise plus αζ̄ for the corruption."""
    theta = np.array([0.6, 0.5, -0.3])
    kept = 0
    for seed in range(60):
        radius = Practical(4.0, 0.05, 0.5, 1.0, scale=1.0, insurance=0.6)
        bandit = Bandit(Linear(3, ridge=0.5), radius, GivenNoise(0.1), seed=seed)
        kept += _radius_is_kept(bandit, theta, seed, 4.0, lambda state: state.beta)
    assert kept >= 0.95 * 60


def test_without_the_insurance_the_same_attack_leaves_the_radius() -> None:
    """So that the two tests above are known to be able to fail."""
    theta = np.array([0.6, 0.5, -0.3])
    radius = Practical(0.0, 0.05, 0.5, 1.0, scale=1.0, insurance=0.0)
    bandits = [Bandit(Linear(3, ridge=0.5), radius, GivenNoise(0.1), seed=seed) for seed in range(20)]
    kept = sum(_radius_is_kept(b, theta, b.seed, 12.0, lambda state: state.beta) for b in bandits)
    assert kept <= 4


def test_the_eluder_potential_stays_below_its_logarithmic_bound() -> None:
    bandit = _bandit()
    state, infos = _folded(bandit, points(bandit.function, 2_000, seed=5), np.full(2_000, 0.5), donate=True)
    assert math.isclose(state.potential, sum(info.d_squared for info in infos), rel_tol=1e-12)
    assert state.potential <= 2.0 * state.function.log_det
    assert state.function.log_det <= 4 * math.log1p(2_000 / (4 * bandit.function.ridge))


def test_with_budget_zero_every_reward_counts_fully() -> None:
    bandit = _bandit(budget=0)
    _, infos = _folded(bandit, points(bandit.function, 50, seed=6), np.full(50, 0.5))
    assert {info.weight for info in infos} == {1.0}


def test_an_unseen_unit_point_starts_at_the_cap() -> None:
    for budget in (0, 5.0):
        for noise in (0.02, 0.1, "auto"):
            for kind in ("linear", "logistic", "quadratic", "fourier", "kernel"):
                bandit = _bandit(budget=budget, noise=noise, function={"kind": kind})
                assert bandit.decide(bandit.init(), np.eye(4), 0).score.min() >= 1.0 - 1e-9


# A fold over a log ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_updates_same_bits(case: Case) -> None:
    """Twice; through the codec in the middle; and on donated arrays."""
    bandit = Bandit(case.function, Practical(6.0, 0.05, case.function.ridge, 1.0, 0.2, 0.6), GivenNoise(0.1))
    x = points(case.function, 150, seed=12)
    y = _rewards(x, seed=12)
    once, _ = _folded(bandit, x, y)
    again, _ = _folded(bandit, x, y, donate=True)
    resumed, _ = _folded(bandit, x[:70], y[:70])
    resumed = codec.decode(codec.encode(resumed), like=bandit.init())
    for row, value in zip(x[70:], y[70:], strict=True):
        resumed, _ = bandit.update(resumed, row, float(value))
    assert codec.encode(once) == codec.encode(again) == codec.encode(resumed)


def test_deciding_changes_nothing() -> None:
    bandit = _bandit()
    state, _ = _folded(bandit, points(bandit.function, 20, seed=7), np.full(20, 0.5))
    before = codec.encode(state)
    for position in range(20):
        bandit.decide(state, points(bandit.function, 5, seed=position), position)
    assert codec.encode(state) == before


def test_a_late_reward_is_weighted_by_what_is_known_when_it_comes() -> None:
    bandit = _bandit()
    x = points(bandit.function, 200, seed=8)
    _, info_early = bandit.update(bandit.init(), x[0], 0.5)
    state, _ = _folded(bandit, x[1:], np.full(199, 0.5))
    _, info_late = bandit.update(state, x[0], 0.5)
    assert info_late.uncertainty < info_early.uncertainty
    assert info_late.weight > info_early.weight


def test_info_reports_the_moment_before_learning() -> None:
    bandit = _bandit()
    x = points(bandit.function, 30, seed=9)
    state, _ = _folded(bandit, x, _rewards(x, 9))
    mean, width = bandit.function.evaluate(state.function, x[:1])
    _, info = bandit.update(state, x[0], 0.9)
    assert math.isclose(info.uncertainty, width[0], rel_tol=1e-10)
    assert math.isclose(info.residual, 0.9 - mean[0], rel_tol=1e-9)
    assert math.isclose(info.d_squared, min(1.0, info.weight * width[0] ** 2), rel_tol=1e-9)


@pytest.mark.parametrize("reward", [-0.1, 1.1, math.nan, math.inf])
def test_a_reward_outside_the_unit_interval_is_refused_and_nothing_is_lost(reward: float) -> None:
    bandit = _bandit()
    state, _ = _folded(bandit, points(bandit.function, 5, seed=10), np.full(5, 0.5))
    before = codec.encode(state)
    with pytest.raises(InvalidInput):
        bandit.update(state, np.eye(4)[0], reward, donate=True)
    assert codec.encode(state) == before


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("case", [c for c in CASES if c.kind != "tabular"], ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_features_that_are_not_finite_are_refused_and_nothing_is_lost(case: Case, bad: float) -> None:
    bandit = Bandit(case.function, FixedRadius(0.5, 1.0), GivenNoise(0.1))
    state, _ = _folded(bandit, points(case.function, 5, seed=10), np.full(5, 0.5))
    before = codec.encode(state)
    with pytest.raises(InvalidInput):
        bandit.update(state, np.full(case.function.dimension, bad), 0.5, donate=True)
    assert codec.encode(state) == before


# Choosing ---------------------------------------------------------------------------------------------------------


def test_the_ranking_is_complete_and_by_optimistic_score() -> None:
    bandit = _bandit(budget=0, noise=0.05)
    state, _ = _folded(bandit, points(bandit.function, 400, seed=11), np.full(400, 0.2))
    options = points(bandit.function, 9, seed=12)
    decision = bandit.decide(state, options, position=1)
    assert sorted(decision.order) == list(range(9))
    assert (np.diff(decision.score[decision.order]) <= 0.0).all()
    assert decision.chosen == decision.order[0]
    np.testing.assert_allclose(decision.score, np.minimum(decision.mean + decision.bonus, 1.0))
    mean, width = bandit.function.evaluate(state.function, options)
    np.testing.assert_allclose((decision.mean, decision.bonus), (mean, state.beta * width))
    assert decision.probability.tolist() == [float(i == decision.chosen) for i in range(9)]


def test_equal_candidates_are_chosen_evenly_and_reproducibly() -> None:
    bandit = _bandit()
    state = bandit.init()
    chosen = [bandit.decide(state, np.eye(4), position).chosen for position in range(2_000)]
    assert chosen == [bandit.decide(state, np.eye(4), position).chosen for position in range(2_000)]
    assert min(Counter(chosen).values()) > 430


def test_candidates_that_only_rounding_tells_apart_are_chosen_evenly() -> None:
    """The same context in another block of a wide row: the sums are made in another order."""
    bandit = build_bandit(BanditSpec(dimension=35, budget=0))
    options = np.kron(np.eye(5), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.1])) / 1.0001
    chosen = Counter(bandit.decide(bandit.init(), options, position).chosen for position in range(1_000))
    assert min(chosen.values()) > 140


def test_another_seed_breaks_ties_another_way() -> None:
    one, other = _bandit(seed=1), _bandit(seed=2)
    choices = [[b.decide(b.init(), np.eye(4), p).chosen for p in range(50)] for b in (one, other)]
    assert choices[0] != choices[1]


def test_at_the_cap_the_larger_bonus_goes_first() -> None:
    bandit = _bandit()
    options = np.array([[0.9, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 0.95, 0]])
    decision = bandit.decide(bandit.init(), options * 2, position=0)
    assert decision.score.tolist() == [1.0, 1.0, 1.0]
    assert decision.order.tolist() == [1, 2, 0]


def test_the_exploration_floor_reports_the_true_probabilities() -> None:
    bandit = _bandit(exploration_floor=0.2, budget=0)
    x = points(bandit.function, 300, seed=13)
    state, _ = _folded(bandit, x, _rewards(x, 13))
    options = points(bandit.function, 4, seed=14)
    decisions = [bandit.decide(state, options, position) for position in range(4_000)]
    assert {tuple(d.probability) for d in decisions} == {tuple(decisions[0].probability)}
    probability = decisions[0].probability
    assert math.isclose(probability.sum(), 1.0)
    np.testing.assert_allclose(sorted(probability), [0.05, 0.05, 0.05, 0.85])
    counts = np.bincount([d.chosen for d in decisions], minlength=4)
    np.testing.assert_allclose(counts / 4_000, probability, atol=0.02)


def test_the_exploration_floor_counts_ties_into_the_probabilities() -> None:
    bandit = _bandit(exploration_floor=0.3)
    state = bandit.init()
    decisions = [bandit.decide(state, np.eye(4) * [1, 1, 1, 0.1], position) for position in range(4_000)]
    np.testing.assert_allclose(decisions[0].probability[:3], 0.3 / 4 + 0.7 / 3)
    counts = np.bincount([d.chosen for d in decisions], minlength=4)
    np.testing.assert_allclose(counts / 4_000, decisions[0].probability, atol=0.03)


def test_an_explored_candidate_is_first_in_the_order() -> None:
    bandit = _bandit(exploration_floor=1.0)
    for position in range(50):
        decision = bandit.decide(bandit.init(), np.eye(4), position)
        assert decision.order[0] == decision.chosen
        assert sorted(decision.order) == [0, 1, 2, 3]


def test_a_single_candidate_is_chosen() -> None:
    bandit = _bandit()
    decision = bandit.decide(bandit.init(), np.eye(4)[:1], 0)
    assert (decision.chosen, decision.probability.tolist()) == (0, [1.0])
