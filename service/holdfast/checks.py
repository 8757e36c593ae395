"""Rules a configuration must keep, each with one clear sentence when it does not."""

import math
from typing import Any

from holdfast.errors import InvalidConfiguration


def demand(condition: bool, rule: str) -> None:
    """Refuse a configuration that breaks a rule."""
    if not condition:
        raise InvalidConfiguration(rule)


def demand_whole(name: str, value: Any, least: int, most: int) -> None:
    """A whole number within bounds; `True` is not one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    demand(fits, f"{name} must be a whole number from {least:,} to {most:,}")


def demand_number(name: str, value: Any, above: float, most: float = math.inf) -> None:
    """A finite number above one bound and at most another; `True` is not one."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and above < value <= most and value < math.inf
    bounds = f"above {above:g}" if most == math.inf else f"above {above:g} and at most {most:g}"
    demand(fits, f"{name} must be a number {bounds}")
