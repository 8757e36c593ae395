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
from typing import Any, Generic, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.errors import DamagedState, InvalidInput, MismatchedState
from holdfast.functions.protocol import FunctionClass, State
from holdfast.learners import ranking
from holdfast.learners.noise import EstimatedNoise, GivenNoise, NoiseState
from holdfast.learners.radius import Radius
from holdfast.learners.ranking import Decision, Decisions, Draw
from holdfast.learners.weighting import weigh_with

SCORE_MAX = 1.0  # rewards are scaled to [0, 1], so no function of the class is worth more


class BanditState(NamedTuple):
    """What must be carried on. `alpha` weighs the next reward, `beta` makes the next decision."""

    function: Any
    noise: NoiseState
    rounds: int
    potential: float  # Σ D², the eluder potential so far
    alpha: float
    beta: float


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
        return ranking.rank(mean, bonus, SCORE_MAX, Draw(self.seed, position, self.exploration_floor), top)

    def decide_all(
        self, state: BanditState, options: Array, counts: Sequence[int], first_position: int, tops: Sequence[int]
    ) -> Decisions:
        """As `decide` at successive positions, of so many rows of `options` each, with one evaluation for all."""
        self.function.check(options)
        mean, bonus = self.function.optimism(state.function, options, state.beta)
        first = Draw(self.seed, first_position, self.exploration_floor)
        return ranking.rank_all(mean, bonus, counts, SCORE_MAX, first, tops)

    def rank(self, mean: Array, bonus: Array, position: int, top: int = 1) -> Decision:
        """The decision that follows from means and bonuses alone: what a log needs to keep to give it again."""
        draw = Draw(self.seed, position, self.exploration_floor)
        return ranking.rank(mean, bonus, SCORE_MAX, draw, top)

    def update(self, state: BanditState, phi: Array, reward: float, donate: bool = False) -> tuple[BanditState, Info]:
        """Learn that `phi` (d,) earned `reward` in [0, 1]. With `donate` the old arrays may be overwritten."""
        reward = checked_reward(reward)
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


def checked_reward(reward: Any) -> float:
    """The reward as a Python float in [0, 1], the only kind of number the state may ever see."""
    if type(reward) is float:
        value = reward
    elif type(reward) is bool or not isinstance(reward, int | float | np.integer | np.floating):
        raise InvalidInput("/value", "must be a number")
    else:
        value = float(reward)
    if not 0.0 <= value <= 1.0:  # true for NaN too
        raise InvalidInput("/value", "must be scaled to [0, 1]")
    return value
