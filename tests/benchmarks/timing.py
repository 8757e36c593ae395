"""Times as medians of interleaved blocks, so that a noisy neighbour hits both sides alike; and how noisy it is."""

import os
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import Pool
from statistics import median
from typing import Any

BLOCKS = 31
BLOCK_S = 0.004
PAUSE_S = 0.001


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


def pauses_ms(seconds: float = 2.0) -> list[float]:
    """How long, if more than 1 ms, the machine keeps a process waiting that only reads the clock; one on each core."""
    cores = sorted(os.sched_getaffinity(0))
    with Pool(len(cores)) as pool:
        return [pause for found in pool.map(partial(_pauses_ms, seconds), cores, chunksize=1) for pause in found]


def _pauses_ms(seconds: float, core: int) -> list[float]:
    os.sched_setaffinity(0, {core})
    found, last = [], time.perf_counter()
    until = last + seconds
    while last < until:
        now = time.perf_counter()
        if now - last > PAUSE_S:
            found.append((now - last) * 1e3)
        last = now
    return found
