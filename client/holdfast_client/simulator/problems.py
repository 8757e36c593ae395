"""What every environment is made of: a round with a known truth, honest rewards, the learner it is meant for."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

MEANS = (0.2, 0.8)
NOISE = 0.1


class Round(NamedTuple):
    """What can be shown now and what each is worth; `cold` is the index of the item that has just arrived, if any."""

    options: Any  # (K, d), or K objects of named features, or K times None
    means: Array  # (K,)
    cold: int = -1
    context: Any = None
    ids: Sequence[str] | None = None

    def actions(self) -> list[dict[str, Any]]:
        """The candidates as the SDK takes them."""
        names = self.ids or [f"item-{k}" for k in range(len(self.means))]
        rows = self.options.tolist() if isinstance(self.options, np.ndarray) else self.options
        return [{"id": i} if x is None else {"id": i, "features": x} for i, x in zip(names, rows, strict=True)]


class Environment(Protocol):
    """Rounds, one after the other, from one seed; `learner` are the settings of a learner that can learn it."""

    @property
    def learner(self) -> Mapping[str, Any]: ...
    def round(self, t: int) -> Round: ...
    def reward(self, rng: np.random.Generator, round_: Round, chosen: int) -> float: ...


def noisy(rng: np.random.Generator, mean: float) -> float:
    """A rating: the mean, some noise, and never outside [0, 1]."""
    return float(min(1.0, max(0.0, mean + NOISE * rng.normal())))


def click(rng: np.random.Generator, mean: float) -> float:
    """1 with this probability, else 0."""
    return float(rng.random() < mean)


def unit(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Directions, uniform on the sphere."""
    rows = rng.normal(size=shape)
    directions: Array = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return directions


def with_means(rng: np.random.Generator, theta: Array, means: Array) -> Array:
    """Random unit vectors x with xᵀθ = mean exactly, for a unit θ."""
    aside = unit(rng, (len(means), len(theta)))
    aside -= np.outer(aside @ theta, theta)
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    vectors: Array = np.outer(means, theta) + np.sqrt(1.0 - means**2)[:, None] * aside
    return vectors


def dense(action: int, context: int = 0, joint: str = "action", **more: Any) -> dict[str, Any]:
    """The `features` of a learner of numeric vectors."""
    return {"kind": "dense", "context": context, "action": action, "joint": joint, **more}
