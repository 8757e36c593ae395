"""Times as medians of interleaved blocks, so that a noisy neighbour hits both sides alike."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

BLOCKS = 31
BLOCK_S = 0.004


def interleaved(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Microseconds per call of each, A/B/A/B."""
    calls = [_calls_per_block(one), _calls_per_block(other)]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(BLOCKS):
        for side, work in enumerate((one, other)):
            times[side].append(_time_block(work, calls[side]))
    return median(times[0]), median(times[1])


def _calls_per_block(work: Callable[[], Any]) -> int:
    work()
    return max(1, int(BLOCK_S * 1e6 / max(_time_block(work, 3), 0.1)))


def _time_block(work: Callable[[], Any], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - started) / calls * 1e6
