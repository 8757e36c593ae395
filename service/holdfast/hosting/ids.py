"""Ids that nobody can guess and that grow with time, so that an index of them grows at its end (UUID version 7)."""

import os
import time

RANDOM_BYTES = 10
_DIGITS = 2 * RANDOM_BYTES
_VARIANT = {digit: "89ab"[int(digit, 16) & 0b11] for digit in "0123456789abcdef"}


def new_id() -> str:
    return new_ids(1)[0]


def new_ids(count: int) -> list[str]:
    """48 bits of milliseconds and 74 random ones each, as RFC 9562 lays them out."""
    beginning = f"{time.time_ns() // 1_000_000:012x}7"
    random = os.urandom(RANDOM_BYTES * count).hex()
    starts = range(0, _DIGITS * count, _DIGITS)
    return [f"{beginning}{random[i : i + 3]}{_VARIANT[random[i + 3]]}{random[i + 4 : i + 19]}" for i in starts]
