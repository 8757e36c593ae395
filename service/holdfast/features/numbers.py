"""Numbers as callers send them: checked strictly, then float64."""

from itertools import chain
from typing import Any

import numpy as np

from holdfast.arrays import Array
from holdfast.errors import InvalidInput
from holdfast.features.limits import NUMBER_MAX, VECTOR_LENGTH_MAX

NUMBER_TYPES = {int, float}  # `bool` is a subclass of `int`, but not the same type


def checked_vector(values: Any, length: int, pointer: str) -> Array:
    """A list of exactly `length` finite numbers within ±1e12, as `(length,)`."""
    if isinstance(values, np.ndarray):
        if values.dtype != np.float64 or values.ndim != 1:
            raise InvalidInput(pointer, "must be a list of numbers")
    elif not isinstance(values, list | tuple) or not set(map(type, values)) <= NUMBER_TYPES:
        raise InvalidInput(pointer, "must be a list of numbers")
    if len(values) != length:
        raise InvalidInput(pointer, f"must have exactly {length} numbers")
    return within_bounds(values, pointer)


def checked_rows(lists: list[Any], length: int) -> Array | None:
    """Lists of numbers as one array `(n, length)`, all checked at once; None if anything at all is wrong."""
    if not all(type(values) is list and len(values) == length for values in lists):
        return None
    if not set(map(type, chain.from_iterable(lists))) <= NUMBER_TYPES:
        return None
    try:
        rows: Array = np.array(lists, dtype=np.float64).reshape(len(lists), length)
    except OverflowError:
        return None
    return rows if (np.abs(rows) <= NUMBER_MAX).all() else None


def within_bounds(values: Any, pointer: str) -> Array:
    """Numbers as float64, refused if any is not finite or beyond ±1e12."""
    if len(values) > VECTOR_LENGTH_MAX:
        raise InvalidInput(pointer, f"must have at most {VECTOR_LENGTH_MAX} numbers")
    try:
        array: Array = np.array(values, dtype=np.float64)
    except OverflowError:
        raise InvalidInput(pointer, _RULE) from None
    if not (np.abs(array) <= NUMBER_MAX).all():  # false for NaN too
        raise InvalidInput(pointer, _RULE)
    return array


_RULE = f"numbers must be finite and within ±{NUMBER_MAX:g}"
