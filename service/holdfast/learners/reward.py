"""What a caller's reward is worth inside: a number in [0, 1]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.checks import demand, demand_number
from holdfast.errors import InvalidInput

Aggregation = Literal["first", "last_before_wait", "sum", "mean"]
VALUE_MAX = 1e12


@dataclass(frozen=True)
class RewardRule:
    """The range rewards are mapped from, how several become one, and what silence is worth (None: nothing).

    >>> RewardRule(minimum=-1.0, maximum=1.0).scaled(0.5)
    0.75
    """

    minimum: float = 0.0
    maximum: float = 1.0
    out_of_range: Literal["reject", "clip"] = "reject"
    default: float | None = 0.0
    aggregation: Aggregation = "first"

    def __post_init__(self) -> None:
        demand_number("reward.min", self.minimum, above=-VALUE_MAX, most=VALUE_MAX)
        demand_number("reward.max", self.maximum, above=-VALUE_MAX, most=VALUE_MAX)
        demand(self.minimum < self.maximum, "reward.min must be below reward.max")
        demand(self.out_of_range in ("reject", "clip"), "reward.out_of_range must be reject or clip")
        demand(
            self.aggregation in ("first", "last_before_wait", "sum", "mean"),
            "reward.aggregation must be first, last_before_wait, sum or mean",
        )
        if self.default is not None:
            demand(self.minimum <= self.default <= self.maximum, "reward.default must lie between reward.min and max")

    @property
    def width(self) -> float:
        """How many units of the caller's reward make one unit inside; a budget is divided by it."""
        return self.maximum - self.minimum

    def scaled(self, value: float) -> float:
        """A value as [0, 1]; out of range it is refused or clipped, as configured."""
        if not -VALUE_MAX <= value <= VALUE_MAX:  # true for NaN too
            raise InvalidInput("/value", f"must be a finite number within ±{VALUE_MAX:g}")
        if self.out_of_range == "reject" and not self.minimum <= value <= self.maximum:
            raise InvalidInput("/value", f"must lie between {self.minimum:g} and {self.maximum:g}")
        return min(1.0, max(0.0, (value - self.minimum) / self.width))

    def aggregated(self, values: Sequence[float]) -> float | None:
        """What all the rewards of one wait come to, in the caller's units; a sum is clipped to the range."""
        if not values:
            return self.default
        if self.aggregation == "first":
            return values[0]
        if self.aggregation == "last_before_wait":
            return values[-1]
        total = sum(values) / (len(values) if self.aggregation == "mean" else 1)
        return min(self.maximum, max(self.minimum, total))
