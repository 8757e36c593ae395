"""How much a key may ask for: a bucket of cost that fills at a steady rate. Pure but for the clock it is given.

The cost of a decision is actions × encoded dimension, of a reward the dimension: what they make the service compute.
A request that costs more than the bucket holds is let through when the bucket is full and leaves a debt, so that
every request can be answered and the rate holds all the same.
"""

import math
import time
from collections.abc import Callable

from holdfast.errors import TooMany

MANAGEMENT_COST = 100.0  # of a request that neither decides nor rewards
BURST_S = 10.0  # how much rate a bucket holds, if not said
BUCKETS_MAX = 10_000  # beyond, the one that has rested longest is forgotten: it is the fullest
ROUNDING = 1e-9


class Limits:
    """One bucket per key; without a rate, no limit."""

    def __init__(self, rate: float = 0.0, burst: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.on = rate > 0.0
        self.rate = rate
        self.burst = burst or rate * BURST_S
        self._clock = clock
        self._buckets: dict[str | None, tuple[float, float]] = {}  # level, and when it was that

    def charge(self, who: str | None, cost: float) -> None:
        """Take the cost from the bucket, or refuse and take nothing."""
        if not self.on:
            return
        now = self._clock()
        level, since = self._buckets.pop(who, (self.burst, now))
        level = min(self.burst, level + (now - since) * self.rate)
        needed = min(cost, self.burst)
        enough = level >= needed * (1.0 - ROUNDING)
        self._buckets[who] = (level - cost if enough else level, now)  # as the last, which is the latest
        if len(self._buckets) > BUCKETS_MAX:
            del self._buckets[next(iter(self._buckets))]
        if not enough:
            raise TooMany("this key has asked for more than its share", math.ceil((needed - level) / self.rate))
