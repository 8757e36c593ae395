"""Ids that nobody can guess and that grow with time, so that an index of them grows at its end (UUID version 7)."""

import os
import time

RANDOM_BYTES = 9
_DIGITS = 2 * RANDOM_BYTES


def new_id() -> str:
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """48 bits of milliseconds and 72 random ones each, as RFC 9562 lays them out; two it leaves to us are always 0."""
    beginning = f"{time.time_ns() // 1_000_000:012x}7"
    random = os.urandom(RANDOM_BYTES * count).hex()
    return [f"{beginning}{random[i : i + 3]}8{random[i + 3 : i + _DIGITS]}" for i in range(0, _DIGITS * count, _DIGITS)]
