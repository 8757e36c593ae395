"""Problems with a known truth. Each keeps what the regret account needs: the mean of every option."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from holdfast.arrays import Array

DIMENSION = 10
OPTIONS = 10
MEANS = (0.2, 0.8)
NOISE = 0.1


class Round(NamedTuple):
    """What can be shown now and what each is worth; `cold` is the index of the item that has just arrived, if any."""

    options: Array  # (K, d)
    means: Array  # (K,)
    cold: int = -1


class Environment(Protocol):
    """Rounds, one after the other, from one seed."""

    def round(self, t: int) -> Round: ...


def _unit(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    rows = rng.normal(size=shape)
    unit: Array = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit


def _with_means(rng: np.random.Generator, theta: Array, means: Array) -> Array:
    """Random unit vectors x with xᵀθ = mean exactly, for a unit θ."""
    aside = _unit(rng, (len(means), len(theta)))
    aside -= np.outer(aside @ theta, theta)
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    vectors: Array = np.outer(means, theta) + np.sqrt(1.0 - means**2)[:, None] * aside
    return vectors


@dataclass
class FixedCatalogue:
    """The same ten items every round. With `arrival`, the best one is added only then."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        rng = np.random.default_rng((self.seed, 10))
        means = np.linspace(*MEANS, OPTIONS)
        options = _with_means(rng, _unit(rng, (DIMENSION,)), means)
        self._before = Round(options[:-1], means[:-1])
        self._after = Round(options, means, cold=-1 if self.arrival is None else OPTIONS - 1)

    def round(self, t: int) -> Round:
        return self._before if self.arrival is not None and t < self.arrival else self._after


@dataclass
class FreshContexts:
    """Ten new random items every round. With `arrival`, one with a feature of its own, mostly the best, is added."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng((self.seed, 11))
        shared = DIMENSION if self.arrival is None else DIMENSION - 1
        self._theta = _unit(self._rng, (shared,))

    def round(self, t: int) -> Round:
        means = self._rng.uniform(*MEANS, size=OPTIONS)
        options = _with_means(self._rng, self._theta, means)
        if self.arrival is None:
            return Round(options, means)
        # θ = (0.8·shared, 0.6) and the cold item is (0.8·x, 0.6), so it is worth 0.36 more than its shared part.
        options, means = np.pad(options, ((0, 0), (0, 1))), 0.8 * means
        if t < self.arrival:
            return Round(options[:-1], means[:-1])
        options[-1], means[-1] = np.append(0.8 * options[-1, :-1], 0.6), 0.8 * means[-1] + 0.36
        return Round(options, means, cold=OPTIONS - 1)


@dataclass
class Smooth:
    """A smooth nonlinear reward of a context and an action in 2 or 3 dimensions, ten random actions a round.

    A constant is added to the features, so that the linear class at least has an intercept.
    """

    seed: int
    dimension: int = 2

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng((self.seed, 12))

    @property
    def features(self) -> int:
        return self.dimension + 1

    def round(self, t: int) -> Round:
        context = self._rng.uniform(-1.0, 1.0, size=self.dimension - 1)
        actions = self._rng.uniform(-1.0, 1.0, size=(OPTIONS, 1))
        columns = [np.tile(context, (OPTIONS, 1)), actions, np.ones((OPTIONS, 1))]
        options = np.hstack(columns) / np.sqrt(self.features)
        # A slope that a linear function sees, and a crest that moves with the context, which it cannot follow.
        slope, crest = 0.2 * actions[:, 0], np.sin(2.0 * context.sum())
        return Round(options, 0.25 + slope + 0.5 * np.exp(-2.0 * (actions[:, 0] - 0.8 * crest) ** 2))
