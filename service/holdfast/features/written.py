"""Vectors as they are written in JSON, made into one array without a Python object for each number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import simdjson

from holdfast.arrays import Array
from holdfast.features.limits import NUMBER_MAX

BEYOND = int(4 * NUMBER_MAX)  # a whole number that a float holds exactly

_END = b",%d," % BEYOND
_parser: Any = simdjson.Parser()


def rows_of(vectors: Sequence[bytes], length: int) -> Array | None:
    """What these JSON arrays of so many numbers hold, a row for each: None if anything at all is wrong.

    Behind each is put a number that none of them may hold. If there are as many numbers as there should be, and those
    not at the end of a row are within bounds, then it is at all the ends, and each vector is as long as it should be.

    >>> rows_of([b"[1, 2.5]", b"[-3e2, 4]"], 2).tolist()
    [[1.0, 2.5], [-300.0, 4.0]]
    >>> rows_of([b"[1, 2.5]", b"[true, 4]"], 2)
    """
    text = _END.join((b"[0", *vectors, b"0]"))
    if occurrences(text, b"[") != 1 + len(vectors):  # an array inside of one would be taken apart
        return None
    if length == 1 and text.count(_END + b"[") != len(vectors):  # a mere number beside such a one
        return None
    try:
        numbers = np.frombuffer(_parser.parse(text).as_buffer(of_type="d"))[2:-1]
    except (TypeError, ValueError, RuntimeError):  # not a number, not an array, not JSON; too large for 64 bits
        return None
    if len(numbers) != len(vectors) * (length + 1):
        return None
    rows = numbers.reshape(len(vectors), length + 1)[:, :length]
    return rows if np.abs(rows).max(initial=0.0) <= NUMBER_MAX else None


def occurrences(text: bytes, character: bytes) -> int:
    """How often; in a fifth of the time that `bytes.count` takes for one that is frequent.

    >>> occurrences(b"[[1], [2]]", b"[")
    3
    """
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(character)))
