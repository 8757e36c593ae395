"""CR-Eluder-UCB against a transcription of Algorithm 1, its own guarantees, and its seeded choices."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from holdfast.functions import Finite
from holdfast.learners import Bandit, BanditSpec, build_bandit, codec
from holdfast.learners.noise import EstimatedNoise, GivenNoise
from holdfast.learners.radius import Confidence, Practical
from tests.contracts import CASES, Case, _weights, folded_bandit, linear_rewards, points, unit_rows
from tests.oracles import AlgorithmOne


def _bandit(**changes: Any) -> Bandit[Any]:
    return build_bandit(BanditSpec(**{"dimension": 4, "budget": 5.0, **changes}))


# Algorithm 1 ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoiseRadius:
    """β that moves with the noise estimate, so that a stale one would be noticed."""

    alpha: float
    factor: float
    budget: float = 1.0

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        return Confidence(self.alpha, self.factor * noise)


@pytest.mark.parametrize("seed", range(12))
def test_finite_class_equals_brute_force_algorithm_one(seed: int) -> None:
    """Weights, confidence sets, fits and actions on random instances, at radii that keep and that drop functions."""
    rng = np.random.default_rng((seed, 99))
    ridge, alpha, beta = rng.uniform(0.3, 3.0), rng.uniform(0.05, 0.5), rng.uniform(0.6, 1.5)
    candidates = _weights(seed, int(rng.integers(5, 40)), 3)
    truth = np.array(candidates[int(rng.integers(len(candidates)))])
    bandit = Bandit(Finite(candidates, ridge), NoiseRadius(alpha, 4.0 * beta), EstimatedNoise())
    oracle = AlgorithmOne(np.array(candidates), ridge, alpha, beta)
    state, dropped = bandit.init(), False
    for t in range(60):
        oracle.beta = state.beta
        best = oracle.stage()
        assert state.function.best == best
        assert np.flatnonzero(state.function.alive).tolist() == oracle.possible
        options = unit_rows(rng, 5, 3)
        decision = bandit.decide(state, options, position=t)
        assert decision.chosen == oracle.act(options)
        z = options[decision.chosen]
        reward = float(np.clip(0.5 + 0.5 * z @ truth + 0.1 * rng.normal(), 0, 1))
        sigma_squared = oracle.learn(z, reward, best)
        state, info = bandit.update(state, z, reward)
        assert math.isclose(info.weight, 1.0 / sigma_squared, rel_tol=1e-9)
        dropped = dropped or len(oracle.possible) < len(candidates)
    assert dropped


# A fold over a log ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_updates_same_bits(case: Case) -> None:
    """Twice; through the codec in the middle; and on donated arrays."""
    bandit = Bandit(case.function, Practical(6.0, 0.05, case.function.ridge, 1.0, 0.2, 0.6), GivenNoise(0.1))
    x = points(case.function, 150, seed=12)
    y = linear_rewards(x, seed=12)
    once, _ = folded_bandit(bandit, x, y)
    again, _ = folded_bandit(bandit, x, y, donate=True)
    resumed, _ = folded_bandit(bandit, x[:70], y[:70])
    resumed = codec.decode(codec.encode(resumed), like=bandit.init())
    for row, value in zip(x[70:], y[70:], strict=True):
        resumed, _ = bandit.update(resumed, row, float(value))
    assert codec.encode(once) == codec.encode(again) == codec.encode(resumed)


def test_deciding_changes_nothing() -> None:
    bandit = _bandit()
    state, _ = folded_bandit(bandit, points(bandit.function, 20, seed=7), np.full(20, 0.5))
    before = codec.encode(state)
    for position in range(20):
        bandit.decide(state, points(bandit.function, 5, seed=position), position)
    assert codec.encode(state) == before


def test_a_late_reward_is_weighted_by_what_is_known_when_it_comes() -> None:
    bandit = _bandit()
    x = points(bandit.function, 200, seed=8)
    _, info_early = bandit.update(bandit.init(), x[0], 0.5)
    state, _ = folded_bandit(bandit, x[1:], np.full(199, 0.5))
    _, info_late = bandit.update(state, x[0], 0.5)
    assert info_late.uncertainty < info_early.uncertainty
    assert info_late.weight > info_early.weight


def test_info_reports_the_moment_before_learning() -> None:
    bandit = _bandit()
    x = points(bandit.function, 30, seed=9)
    state, _ = folded_bandit(bandit, x, linear_rewards(x, 9))
    mean, width = bandit.function.evaluate(state.function, x[:1])
    _, info = bandit.update(state, x[0], 0.9)
    assert math.isclose(info.uncertainty, width[0], rel_tol=1e-10)
    assert math.isclose(info.residual, 0.9 - mean[0], rel_tol=1e-9)
    assert math.isclose(info.d_squared, min(1.0, info.weight * width[0] ** 2), rel_tol=1e-9)


# Choosing ---------------------------------------------------------------------------------------------------------


def test_the_ranking_is_complete_and_by_optimistic_score() -> None:
    bandit = _bandit(budget=0, noise=0.05)
    state, _ = folded_bandit(bandit, points(bandit.function, 400, seed=11), np.full(400, 0.2))
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
    decision = bandit.rank(np.zeros(3), 2.0 * options.sum(axis=1), position=0)
    assert decision.score.tolist() == [1.0, 1.0, 1.0]
    assert decision.order.tolist() == [1, 2, 0]


def test_ties_further_down_are_broken_evenly_where_they_are_shown() -> None:
    bandit = _bandit()
    mean = np.array([0.9, 0.3, 0.3, 0.3])
    second = Counter(int(bandit.rank(mean, np.full(4, 0.01), position, top=2).order[1]) for position in range(900))
    assert set(second) == {1, 2, 3}
    assert min(second.values()) > 230


def test_the_exploration_floor_reports_the_true_probabilities() -> None:
    bandit = _bandit(exploration_floor=0.2, budget=0)
    x = points(bandit.function, 300, seed=13)
    state, _ = folded_bandit(bandit, x, linear_rewards(x, 13))
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


@pytest.mark.parametrize("floor", [0.0, 0.2])
@pytest.mark.parametrize("learned", [0, 60])
def test_many_decisions_at_once_are_those_made_one_by_one(floor: float, learned: int) -> None:
    """Unlearned, everything ties; learned, some do; the counts of candidates and of shown actions may differ."""
    bandit = build_bandit(BanditSpec(dimension=3, budget=3.0, exploration_floor=floor, seed=7))
    rng = np.random.default_rng(1)
    state = bandit.init()
    for _ in range(learned):
        state, _ = bandit.update(state, rng.uniform(-0.5, 0.5, 3), float(rng.random()))
    for counts, tops in (([5] * 8, [1] * 8), ([1] * 4, [1] * 4), ([2, 5, 3, 5], [1, 2, 3, 1])):
        options = [rng.uniform(-0.5, 0.5, (count, 3)).round(1) for count in counts]
        together = bandit.decide_all(state, np.concatenate(options), counts, 11, tops)
        for i, ranking in enumerate(together.rankings()):
            alone = bandit.decide(state, options[i], 11 + i, tops[i]).ranking()
            assert ranking.chosen == alone.chosen
            assert ranking.order == alone.order
            assert ranking.probability == alone.probability
            assert np.allclose(ranking.score, alone.score, rtol=0, atol=1e-13)
