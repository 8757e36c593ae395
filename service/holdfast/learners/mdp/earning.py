"""What the rewards of an episode are worth inside: their sum is mapped onto [0, 1].

With H steps and a range of the whole episode, a step that earns r is worth u = (r − min/H)/(max − min): all of them
together Σu = (Σr − min)/(max − min). A range that begins at 0 is the plain case, u = r/max.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from holdfast.checks import demand, demand_choice, demand_number, demand_whole
from holdfast.errors import InvalidInput
from holdfast.learners.mdp.learner import LENGTH_MAX
from holdfast.learners.reward import VALUE_MAX

SLACK = 1e-9  # of the range: sums of decimal numbers are not exact


@dataclass(frozen=True)
class EpisodeRule:
    """The range that whole episodes are mapped from, and what the silence about a step is worth (None: nothing).

    `step_max` is the most one step can earn, in the caller's units; without it, one step may earn everything.

    >>> rule = EpisodeRule(length=4, maximum=10.0)
    >>> rule.scaled(5.0), rule.scaled(5.0, told=[0.5])
    (0.5, 0.5)
    """

    length: int
    minimum: float = 0.0
    maximum: float = 1.0
    out_of_range: Literal["reject", "clip"] = "reject"
    default: float | None = None
    step_max: float | None = None

    def __post_init__(self) -> None:
        demand_whole("episode_length", self.length, 1, LENGTH_MAX)
        demand_number("reward.min", self.minimum, above=-VALUE_MAX, most=0.0)
        demand_number("reward.max", self.maximum, least=0.0, most=VALUE_MAX)
        demand(self.minimum < self.maximum, "reward.min must be below reward.max")
        demand_choice("reward.out_of_range", self.out_of_range, ("reject", "clip"))
        if self.step_max is not None:
            demand(self.minimum == 0.0, "reward.step_max can be given only where reward.min is 0")
            least = self.maximum / self.length
            demand_number("reward.step_max", self.step_max, least=least, most=self.maximum)
        if self.default is not None:
            demand_number("reward.default", self.default, least=self.minimum / self.length, most=self._step_most)

    @property
    def width(self) -> float:
        """How many units of the caller's reward make one unit inside; a budget is divided by it."""
        return self.maximum - self.minimum

    @property
    def share(self) -> float:
        """The most one step can be worth inside."""
        return 1.0 if self.step_max is None else min(1.0, max(1.0 / self.length, self.step_max / self.width))

    @property
    def _step_most(self) -> float:
        return self.share * self.width + self.minimum / self.length

    def scaled(self, value: float, told: Iterable[float] = ()) -> float:
        """A step's reward inside, beside those `told` of its episode; out of range it is refused or clipped."""
        if not -VALUE_MAX <= value <= VALUE_MAX:  # true for NaN too
            raise InvalidInput("/value", f"must be a finite number within ±{VALUE_MAX:g}")
        worth, left = self._worth(value), 1.0 - sum(told)
        if self.out_of_range == "reject":
            if not -SLACK <= worth <= self.share + SLACK:
                least = self.minimum / self.length
                raise InvalidInput("/value", f"one step earns from {least:g} to {self._step_most:g}")
            if worth > left + SLACK:
                raise InvalidInput("/value", f"the rewards of an episode add up to {self.maximum:g} at most")
        return max(0.0, min(worth, self.share, left))

    def silence(self, told: Iterable[float]) -> float | None:
        """What a step without a reward is worth beside those told; None if that is nothing to learn from."""
        return None if self.default is None else max(0.0, min(self._worth(self.default), self.share, 1.0 - sum(told)))

    def padding(self, missing: int, told: Iterable[float]) -> float:
        """What steps that were not taken add, each with a reward of 0; nothing where the range begins at 0."""
        return max(0.0, min(missing * self._worth(0.0), 1.0 - sum(told)))

    def _worth(self, value: float) -> float:
        return (value - self.minimum / self.length) / self.width
