"""Rules a configuration must keep, each with one clear sentence when it does not."""

import math
from collections.abc import Iterable
from typing import Any

from holdfast.errors import InvalidConfiguration

NUMBER_MAX = 1e12


def demand(condition: bool, rule: str) -> None:
    """Refuse a configuration that breaks a rule."""
    if not condition:
        raise InvalidConfiguration(rule)


def demand_whole(name: str, value: Any, least: int, most: int) -> None:
    """A whole number within bounds; `True` is not one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    demand(fits, f"{name} must be a whole number from {least:,} to {most:,}")


def demand_number(
    name: str, value: Any, above: float = -math.inf, least: float = -NUMBER_MAX, most: float = NUMBER_MAX
) -> None:
    """A number above one bound, at least another and at most a third; `True` is not one, nor is NaN."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    bound = f"above {above:g}" if above > -math.inf else f"at least {least:g}"
    demand(number and value > above and least <= value <= most, f"{name} must be a number {bound} and at most {most:g}")


def demand_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """One of a few words."""
    known = list(choices)
    demand(isinstance(value, str) and value in known, f"{name} must be one of {', '.join(known)}")


def demand_texts(name: str, values: Any, length_max: int) -> None:
    """A list of different non-empty texts; the order of a set would differ from run to run."""
    fits = isinstance(values, list | tuple) and all(is_text(value, length_max) and value for value in values)
    demand(fits, f"{name} must be a list of texts of 1 to {length_max} characters")
    demand(len(set(values)) == len(values), f"{name} must be unique")


def is_text(value: Any, length_max: int) -> bool:
    """Whether this is a text that UTF-8 can write (a lone surrogate cannot), and not too long."""
    if not isinstance(value, str) or len(value) > length_max:
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
