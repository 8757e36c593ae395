"""Ids that nobody can guess and that grow with time, so that an index of them grows at its end (UUID version 7)."""

import os
import time


def new_id() -> str:
    """48 bits of milliseconds and 74 random ones, as RFC 9562 lays them out."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    value = milliseconds << 80 | 0x7 << 76 | (random >> 62 & 0xFFF) << 64 | 0b10 << 62 | random & (1 << 62) - 1
    return f"{value:032x}"
