"""When calls are made, and what becomes of rewards on their way: late, lost, twice, out of order. All from one seed."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
Arrivals = Literal["constant", "poisson", "burst", "diurnal"]
ARRIVALS: tuple[Arrivals, ...] = ("constant", "poisson", "burst", "diurnal")
BURST_S, QUIET_S = 0.2, 0.8  # everything of a second comes in its first fifth
DAY_S = 10.0  # a day of a load test
SWING = 0.8  # between night and noon


@dataclass(frozen=True)
class Traffic:
    """`delay` is the mean of a geometric number of calls (of steps, in a session); the others are shares."""

    delay: float = 0.0
    missing: float = 0.0
    duplicate: float = 0.0
    reordered: float = 0.0
    dropped: float = 0.0  # of requests, on the network


class Waiting(NamedTuple, Generic[T]):
    """A reward on its way."""

    due: int
    order: float
    number: int
    claim: T


class Post(Generic[T]):
    """Takes rewards as they are given and hands them out as they arrive."""

    def __init__(self, traffic: Traffic, seed: int) -> None:
        self._traffic, self._rng = traffic, np.random.default_rng((seed, 40))
        self._waiting: list[Waiting[T]] = []
        self._number = 0
        self.missing = 0

    def take(self, claim: T, now: int) -> None:
        """One reward; whether it is lost, and how often it will come, is settled here."""
        lost, twice = self._rng.random(2)
        if lost < self._traffic.missing:
            self.missing += 1
            return
        for _ in range(2 if twice < self._traffic.duplicate else 1):
            jumps = self._rng.random() < self._traffic.reordered
            order = float(self._rng.random()) if jumps else 1.0
            heapq.heappush(self._waiting, Waiting(now + self._delay(), order, self._number, claim))
            self._number += 1

    def _delay(self) -> int:
        mean = self._traffic.delay
        return int(self._rng.geometric(1.0 / (1.0 + mean))) - 1 if mean else 0

    def arrived(self, now: int | None) -> list[T]:
        """What has arrived by now, or, without a time, everything that is still on its way."""
        claims = []
        while self._waiting and (now is None or self._waiting[0].due <= now):
            claims.append(heapq.heappop(self._waiting).claim)
        return claims


def schedule(arrivals: Arrivals, rate: float, duration_s: float, seed: int) -> Iterator[float]:
    """When each call is due, in seconds from the start.

    >>> [round(due, 2) for due in schedule("constant", 4.0, 1.0, seed=0)]
    [0.0, 0.25, 0.5, 0.75]
    """
    rng, due = np.random.default_rng((seed, 41)), 0.0
    while due < duration_s:
        yield due
        if arrivals == "constant":
            due += 1.0 / rate
        elif arrivals == "poisson":
            due += float(rng.exponential(1.0 / rate))
        elif arrivals == "burst":
            due += BURST_S / rate
            due += QUIET_S if due % 1.0 >= BURST_S else 0.0
        else:
            now = rate * (1.0 + SWING * np.sin(2.0 * np.pi * due / DAY_S))
            due += float(rng.exponential(1.0 / now))
