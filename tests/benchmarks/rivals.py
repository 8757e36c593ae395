"""What a team would run instead, on the same regression: each is a decide and an update, as Holdfast's bandit is."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from holdfast.arrays import Array
from holdfast.functions import Linear
from holdfast.functions.ridge import RidgeState
from holdfast.learners import Bandit, BanditSpec, build_bandit
from holdfast.learners.noise import EstimatedNoise, NoiseState
from holdfast.learners.radius import Confidence, Practical


class Player(Protocol):
    """What the regret account can run."""

    def init(self) -> Any: ...
    def decide(self, state: Any, options: Array, position: int) -> Any: ...
    def update(self, state: Any, phi: Array, reward: float, donate: bool = False) -> tuple[Any, Any]: ...


@dataclass(frozen=True)
class EnlargedRadius:
    """The old answer to corruption: keep every weight at 1 and widen the radius to β = sR + sqrt(ζ̄)."""

    plain: Practical
    budget: float

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        beta = self.plain.confidence(noise, log_complexity, alpha_before).beta
        return Confidence(math.inf, beta + math.sqrt(self.budget))


class Choice(NamedTuple):
    chosen: int


@dataclass(frozen=True)
class EpsilonGreedy:
    """The best mean, and with probability ε a random option."""

    function: Linear
    epsilon: float
    seed: int

    def init(self) -> RidgeState:
        return self.function.init()

    def decide(self, state: RidgeState, options: Array, position: int) -> Choice:
        rng = np.random.default_rng((self.seed, position))
        if rng.random() < self.epsilon:
            return Choice(int(rng.integers(len(options))))
        return Choice(int(self.function.evaluate(state, options)[0].argmax()))

    def update(self, state: RidgeState, phi: Array, reward: float, donate: bool = False) -> tuple[RidgeState, None]:
        state, _ = self.function.observe(state, phi, reward, lambda width: 1.0, donate)
        return state, None


@dataclass(frozen=True)
class Thompson:
    """The best option under one draw from the Gaussian posterior, with the noise estimated as Holdfast does."""

    function: Linear
    seed: int
    noise: EstimatedNoise = field(default_factory=EstimatedNoise)

    def init(self) -> tuple[RidgeState, NoiseState]:
        return self.function.init(), self.noise.init()

    def decide(self, state: tuple[RidgeState, NoiseState], options: Array, position: int) -> Choice:
        rng = np.random.default_rng((self.seed, position))
        fit, noise = state
        theta = fit.theta + self.noise.level_of(noise) * (fit.root @ rng.normal(size=len(fit.theta)))
        return Choice(int((options @ theta).argmax()))

    def update(
        self, state: tuple[RidgeState, NoiseState], phi: Array, reward: float, donate: bool = False
    ) -> tuple[tuple[RidgeState, NoiseState], None]:
        fit, seen = self.function.observe(state[0], phi, reward, lambda width: 1.0, donate)
        return (fit, self.noise.update(state[1], reward - seen.mean, seen.width)), None


def plain(dimension: int, budget: float, seed: int) -> Bandit[Any]:
    """Optimism without insurance, at Holdfast's defaults."""
    return build_bandit(BanditSpec(dimension=dimension, budget=0, seed=seed))


def insured(dimension: int, budget: float, seed: int) -> Bandit[Any]:
    """Holdfast, at its defaults, insured for exactly the budget."""
    return build_bandit(BanditSpec(dimension=dimension, budget=budget, seed=seed))


def enlarged(dimension: int, budget: float, seed: int) -> Bandit[Any]:
    uninsured = plain(dimension, budget, seed)
    assert isinstance(uninsured.radius, Practical)
    return Bandit(uninsured.function, EnlargedRadius(uninsured.radius, budget), uninsured.noise, seed)


def epsilon_greedy(dimension: int, budget: float, seed: int) -> EpsilonGreedy:
    return EpsilonGreedy(Linear(dimension, ridge=0.1), 0.05, seed)


def thompson(dimension: int, budget: float, seed: int) -> Thompson:
    return Thompson(Linear(dimension, ridge=0.1), seed)


PLAYERS = {
    "plain": plain,
    "enlarged radius": enlarged,
    "ε-greedy": epsilon_greedy,
    "Thompson": thompson,
    "insured": insured,
}
