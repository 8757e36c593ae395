"""CR-Eluder-UCB (Algorithm 1, alg:ucb_nonlinear_bandit) as a pure fold: decide, and update.

Invariants
1. A decision depends on the state, the candidates and the position only; `default_rng((seed, position))` repeats it.
2. An update depends on the state and on what the log holds of the decision: its features and its reward. Nothing is
   remembered from decision time, so a late or reordered reward is as good as any other.
3. The weight comes from the uncertainty at the moment of learning, before the point is added.
4. α never falls (see `radius.py`), so α·ζ̄·b(z) bounds what ζ̄ units of corruption did to f̂(z), at any time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array
from holdfast.errors import DamagedState, InvalidInput, MismatchedState
from holdfast.functions.protocol import FunctionClass, State
from holdfast.learners.noise import EstimatedNoise, GivenNoise, NoiseState
from holdfast.learners.radius import Radius
from holdfast.learners.weighting import weigh_with

SCORE_MAX = 1.0  # rewards are scaled to [0, 1], so no function of the class is worth more
ROUNDING_DIGITS = 12
ROUNDING = 10.0**-ROUNDING_DIGITS  # candidates closer than this differ by the order of additions, not by evidence


class BanditState(NamedTuple):
    """What must be carried on. `alpha` weighs the next reward, `beta` makes the next decision."""

    function: Any
    noise: NoiseState
    rounds: int
    potential: float  # Σ D², the eluder potential so far
    alpha: float
    beta: float


class Decision(NamedTuple):
    """The full ranking. All arrays are in the order of the candidates given.

    `order` lists them as they are to be shown: the chosen one, then the others from the best score down.
    """

    chosen: int
    order: npt.NDArray[np.intp]
    mean: Array
    bonus: Array
    score: Array
    probability: Array


class Info(NamedTuple):
    """What one update is worth reporting as; nothing here is needed to go on."""

    weight: float
    uncertainty: float  # b(z) before the point was added
    d_squared: float  # D², def:wdim_bandit
    residual: float  # reward minus what was expected


@dataclass(frozen=True)
class Bandit(Generic[State]):
    """A corruption-robust optimistic learner over any function class."""

    function: FunctionClass[State]
    radius: Radius
    noise: GivenNoise | EstimatedNoise
    seed: int = 0
    exploration_floor: float = 0.0

    def init(self) -> BanditState:
        function, noise = self.function.init(), self.noise.init()
        level, complexity = self.noise.level_of(noise), self.function.log_complexity(function)
        alpha, beta = self.radius.confidence(level, complexity, alpha_before=0.0)
        return BanditState(self.function.confine(function, beta), noise, 0, 0.0, alpha, beta)

    def decide(self, state: BanditState, options: Array, position: int, top: int = 1) -> Decision:
        """Rank the rows of `options` (K, d). `position` is the place in the log; the first `top` will be shown."""
        self.function.check(options)
        mean, bonus = self.function.optimism(state.function, options, state.beta)
        return self.rank(mean, bonus, position, top)

    def decide_all(
        self, state: BanditState, options: Sequence[Array], first_position: int, tops: Sequence[int]
    ) -> list[Decision]:
        """As `decide` at successive positions, with one evaluation of the function for all."""
        stacked = options[0] if len(options) == 1 else np.concatenate(options)
        self.function.check(stacked)
        mean, bonus = self.function.optimism(state.function, stacked, state.beta)
        counts = [len(rows) for rows in options]
        if min(counts) == max(counts) > 1 and set(tops) == {1} and not self.exploration_floor:
            shape = (len(options), counts[0])
            return self._rank_all(mean.reshape(shape), bonus.reshape(shape), first_position)
        starts = [end - count for end, count in zip(accumulate(counts), counts, strict=True)]
        return [
            self.rank(mean[start : start + count], bonus[start : start + count], first_position + i, top)
            for i, (start, count, top) in enumerate(zip(starts, counts, tops, strict=True))
        ]

    def _rank_all(self, mean: Array, bonus: Array, first_position: int) -> list[Decision]:
        """`rank` of each row of `mean` and `bonus` (n, K), where one action is to be shown."""
        score = np.minimum(mean + bonus, SCORE_MAX)  # eqn:confidence_set_mdp, as in `rank`
        order, tied = _order_all(score)
        if tied.any():
            by_key, still_tied = _order_all(_tie_key(bonus, score))
            order = np.where(tied[:, None], by_key, order)
            tied &= still_tied
        probability = np.zeros(score.shape)
        probability[np.arange(len(score)), order[:, 0]] = 1.0
        chosen = order[:, 0].tolist()
        return [
            self._decide_tied(mean[i], bonus[i], score[i], first_position + i, 1)
            if drawn
            else Decision(chosen[i], order[i], mean[i], bonus[i], score[i], probability[i])
            for i, drawn in enumerate(tied.tolist())
        ]

    def rank(self, mean: Array, bonus: Array, position: int, top: int = 1) -> Decision:
        """The decision that follows from means and bonuses alone: what a log needs to keep to give it again."""
        if not isinstance(position, int) or position < 0:
            raise InvalidInput("/position", "must be a whole number, 0 or more")
        score = np.minimum(mean + bonus, SCORE_MAX)  # eqn:confidence_set_mdp: 1 ∧ (f̂ + βb)
        order = (-score).argsort(kind="stable")
        if self.exploration_floor or _tie_among_first(top, score, order):
            return self._decide_tied(mean, bonus, score, position, top)
        return _greedy(order, mean, bonus, score)

    def update(self, state: BanditState, phi: Array, reward: float, donate: bool = False) -> tuple[BanditState, Info]:
        """Learn that `phi` (d,) earned `reward` in [0, 1]. With `donate` the old arrays may be overwritten."""
        reward = _checked(reward)
        self.function.check(phi)
        weigh = weigh_with(state.alpha)
        function, (mean, width, weight) = self.function.observe(state.function, phi, reward, weigh, donate)
        residual = reward - mean
        noise = self.noise.update(state.noise, residual, width)
        level, complexity = self.noise.level_of(noise), self.function.log_complexity(function)
        alpha, beta = self.radius.confidence(level, complexity, state.alpha)
        function = self.function.confine(function, beta)
        information = weight * width * width
        d_squared = information if information < 1.0 else 1.0  # D = 1 ∧ b/σ
        new = BanditState(function, noise, state.rounds + 1, state.potential + d_squared, alpha, beta)
        return new, Info(weight, width, d_squared, residual)

    def check_state(self, state: BanditState) -> None:
        """Refuse a state of the right shape that no fold of this learner could have reached."""
        if math.isinf(state.alpha) != math.isinf(self.init().alpha):
            raise MismatchedState("the state is insured and the learner is not, or the other way round")
        reached = min(state.rounds, state.potential, state.beta, state.noise.squares) >= 0
        reached = reached and state.alpha > 0.0 and state.noise.mass > 0.0
        if not reached or not self.function.is_sound(state.function):
            raise DamagedState("the state holds numbers that no learner reaches")

    def _decide_tied(self, mean: Array, bonus: Array, score: Array, position: int, top: int) -> Decision:
        """At the cap the larger bonus goes first, then the seeded generator; the floor mixes in a uniform choice."""
        key = _tie_key(bonus, score)
        order = (-key).argsort(kind="stable")
        if not self.exploration_floor and not _tie_among_first(top, key, order):
            return _greedy(order, mean, bonus, score)
        rng = np.random.default_rng((self.seed, position))
        order = np.lexsort((rng.random(len(key)), -key))
        if not self.exploration_floor:
            return _greedy(order, mean, bonus, score)
        tied = key == key[order[0]]
        probability = np.where(tied, (1.0 - self.exploration_floor) / tied.sum(), 0.0)
        probability += self.exploration_floor / len(key)
        if rng.random() < self.exploration_floor:
            order = _moved_to_front(order, int(rng.integers(len(key))))
        return Decision(int(order[0]), order, mean, bonus, score, probability)


def _checked(reward: Any) -> float:
    """The reward as a Python float in [0, 1], the only kind of number the state may ever see."""
    if type(reward) is bool or not isinstance(reward, int | float | np.integer | np.floating):
        raise InvalidInput("/value", "must be a number")
    value = float(reward)
    if not 0.0 <= value <= 1.0:  # true for NaN too
        raise InvalidInput("/value", "must be scaled to [0, 1]")
    return value


def _greedy(order: npt.NDArray[np.intp], mean: Array, bonus: Array, score: Array) -> Decision:
    chosen = int(order[0])
    probability = np.zeros(len(score))
    probability[chosen] = 1.0
    return Decision(chosen, order, mean, bonus, score, probability)


def _order_all(key: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Each row from its best down, and whether its best is tied."""
    order = (-key).argsort(axis=1, kind="stable")
    best = np.take_along_axis(key, order[:, :2], axis=1)
    return order, best[:, 0] - best[:, 1] <= ROUNDING


def _tie_among_first(top: int, key: Array, order: npt.NDArray[np.intp]) -> bool:
    """Whether who is among the first `top`, or in which order, hangs on a tie."""
    return any(key[order[i]] - key[order[i + 1]] <= ROUNDING for i in range(min(top, len(order) - 1)))


def _tie_key(bonus: Array, score: Array) -> Array:
    """What to rank by when scores tie, the normal case early on: equal where only rounding differs."""
    key: Array = np.where(score >= SCORE_MAX - ROUNDING, SCORE_MAX + bonus, score)
    return key.round(ROUNDING_DIGITS)


def _moved_to_front(order: npt.NDArray[np.intp], index: int) -> npt.NDArray[np.intp]:
    return np.concatenate([[index], order[order != index]])
