"""What every learner of the comparison is asked: the same candidates, described by the same numbers."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from holdfast.arrays import Array


class Question(NamedTuple):
    """One row of features for each candidate.

    Where one context is shared by all and every arm has weights of its own, `context` is what the rows were laid out
    from: libraries with a model for each arm are given that, which is the same regression.
    """

    rows: Array  # (K, d)
    context: Array | None = None


class Shape(NamedTuple):
    """What a learner must know before the first question."""

    dimension: int  # of a row
    arms: int
    context: int | None = None

    @property
    def models(self) -> int:
        """One for each arm if they share a context, else one for all rows."""
        return 1 if self.context is None else self.arms


class Learner(Protocol):
    """Choose, then learn what it was worth. Rewards are in [0, 1]."""

    def choose(self, asked: Question, t: int) -> int: ...
    def learn(self, asked: Question, chosen: int, reward: float) -> None: ...


Setting = Mapping[str, Any]
"""One point of a tuning grid."""


class Entry(NamedTuple):
    """One line of the tables: how to make it, and the settings that were tried on clean data."""

    make: Callable[[Shape, Setting, int], Learner]
    grid: tuple[Setting, ...]


def described(setting: Setting) -> str:
    """As it is printed.

    >>> described({"alpha": 0.5, "kind": "bag"})
    'alpha 0.5, kind bag'
    """
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def grid(**choices: tuple[Any, ...]) -> tuple[Setting, ...]:
    """Every combination.

    >>> grid(a=(1, 2), b=("x",))
    ({'a': 1, 'b': 'x'}, {'a': 2, 'b': 'x'})
    """
    points: list[dict[str, Any]] = [{}]
    for name, values in choices.items():
        points = [{**point, name: value} for point in points for value in values]
    return tuple(points)
