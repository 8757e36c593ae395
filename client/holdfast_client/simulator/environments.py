"""Items to choose from, with a known truth: catalogues, fresh contexts, smooth and logistic rewards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast_client.simulator.problems import MEANS, Array, Round, click, dense, noisy, unit, with_means

DIMENSION = 10
OPTIONS = 10
CLICK_RATES = (0.05, 0.45)
USER = ITEM = 3


@dataclass
class FixedCatalogue:
    """The same ten items every round, rated. With `arrival`, the best one is added only then."""

    seed: int
    arrival: int | None = None
    means: tuple[float, float] = MEANS

    def __post_init__(self) -> None:
        rng = np.random.default_rng((self.seed, 10))
        means = np.linspace(*self.means, OPTIONS)
        options = with_means(rng, unit(rng, (DIMENSION,)), means)
        self._before = Round(options[:-1], means[:-1])
        self._after = Round(options, means, cold=-1 if self.arrival is None else OPTIONS - 1)

    @property
    def learner(self) -> Mapping[str, Any]:
        return {"features": dense(DIMENSION)}

    def round(self, t: int) -> Round:
        return self._before if self.arrival is not None and t < self.arrival else self._after

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return noisy(rng, round_.means[chosen])


@dataclass
class Clicks:
    """A fixed catalogue whose items are clicked or not."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        self._catalogue = FixedCatalogue(self.seed, self.arrival, CLICK_RATES)

    @property
    def learner(self) -> Mapping[str, Any]:
        return self._catalogue.learner

    def round(self, t: int) -> Round:
        return self._catalogue.round(t)

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return click(rng, round_.means[chosen])


@dataclass
class FreshContexts:
    """Ten new random items every round. With `arrival`, one with a feature of its own, mostly the best, is added."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng((self.seed, 11))
        shared = DIMENSION if self.arrival is None else DIMENSION - 1
        self._theta = unit(self._rng, (shared,))

    @property
    def learner(self) -> Mapping[str, Any]:
        return {"features": dense(DIMENSION)}

    def round(self, t: int) -> Round:
        means = self._rng.uniform(*MEANS, size=OPTIONS)
        options = with_means(self._rng, self._theta, means)
        if self.arrival is None:
            return Round(options, means)
        # θ = (0.8·shared, 0.6) and the cold item is (0.8·x, 0.6), so it is worth 0.36 more than its shared part.
        options, means = np.pad(options, ((0, 0), (0, 1))), 0.8 * means
        if t < self.arrival:
            return Round(options[:-1], means[:-1])
        options[-1], means[-1] = np.append(0.8 * options[-1, :-1], 0.6), 0.8 * means[-1] + 0.36
        return Round(options, means, cold=OPTIONS - 1)

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return noisy(rng, round_.means[chosen])


@dataclass
class DriftingUsers:
    """Users whose tastes are known and wander; eight items. What a taste makes of an item never changes."""

    seed: int
    arrival: int | None = None
    step: float = 0.05

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng((self.seed, 13))
        self._items = unit(self._rng, (8, ITEM))
        self._bond = unit(self._rng, (USER * ITEM,)).reshape(USER, ITEM)
        self._user: Array = unit(self._rng, (USER,))

    @property
    def learner(self) -> Mapping[str, Any]:
        return {"features": dense(ITEM + 1, USER, "outer")}

    def round(self, t: int) -> Round:
        self._user = self._user + self.step * self._rng.normal(size=USER)
        self._user /= np.linalg.norm(self._user)
        # The constant column carries the 0.5 that every mean has in common.
        options = np.hstack([self._items, np.ones((len(self._items), 1))]) / np.sqrt(2.0)
        return Round(options, 0.5 + 0.4 * self._items @ self._bond.T @ self._user, context=self._user.tolist())

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return noisy(rng, round_.means[chosen])


@dataclass
class Smooth:
    """A smooth nonlinear reward of a context and an action in 2 or 3 dimensions, ten random actions a round.

    A constant is added to the features, so that the linear class at least has an intercept.
    """

    seed: int
    dimension: int = 2
    arrival: int | None = None

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng((self.seed, 12))

    @property
    def features(self) -> int:
        return self.dimension + 1

    @property
    def learner(self) -> Mapping[str, Any]:
        return {"features": dense(self.features), "function": {"kind": "fourier"}}

    def round(self, t: int) -> Round:
        context = self._rng.uniform(-1.0, 1.0, size=self.dimension - 1)
        actions = self._rng.uniform(-1.0, 1.0, size=(OPTIONS, 1))
        columns = [np.tile(context, (OPTIONS, 1)), actions, np.ones((OPTIONS, 1))]
        options = np.hstack(columns) / np.sqrt(self.features)
        # A slope that a linear function sees, and a crest that moves with the context, which it cannot follow.
        slope, crest = 0.2 * actions[:, 0], np.sin(2.0 * context.sum())
        return Round(options, 0.25 + slope + 0.5 * np.exp(-2.0 * (actions[:, 0] - 0.8 * crest) ** 2))

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return noisy(rng, round_.means[chosen])


@dataclass
class Logistic:
    """A catalogue whose clicks follow μ(4·xᵀθ), with μ the logistic function."""

    seed: int
    arrival: int | None = None

    def __post_init__(self) -> None:
        rng = np.random.default_rng((self.seed, 14))
        scores = np.linspace(-0.7, 0.35, OPTIONS)
        options = with_means(rng, unit(rng, (6,)), scores)
        self._round = Round(options, 1.0 / (1.0 + np.exp(-4.0 * scores)))

    @property
    def learner(self) -> Mapping[str, Any]:
        return {"features": dense(6), "function": {"kind": "logistic"}}

    def round(self, t: int) -> Round:
        return self._round

    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float:
        return click(rng, round_.means[chosen])
