"""What this process has done, in plain numbers, each of which one thread changes: no lock, and nothing per operation.

Whoever reads them may be one batch late. They start at zero with the process; what must outlive it is in the log.
"""

from bisect import bisect_left
from operator import attrgetter, sub

from holdfast.hosting.live import LiveLearner
from holdfast.hosting.recover import Warn

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
OUTCOMES = ("learned", "pending", "late", "ignored", "defaulted")  # as the log tells them
# Whatever grows as a learner does its work.
_counts = attrgetter("tally.decisions", "tally.observed", "expiries", "duplicates", *(f"tally.{o}" for o in OUTCOMES))
WARNINGS = (
    "snapshot skipped",
    "commit failed",
    "operation failed",
    "snapshot not saved",
    "errand failed",
    "sweep failed",
)


class Histogram:
    """How many values there were up to each bound, and beyond the last; and what they add up to.

    >>> sizes = Histogram((1, 2))
    >>> for size in (1, 2, 2, 9): sizes.observe(size)
    >>> sizes.counts, sizes.total
    ([1, 2, 1], 14.0)
    """

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Meter:
    """The writer says what it begins and what it has committed; only what is committed counts."""

    def __init__(self) -> None:
        self.batch_sizes = Histogram(SIZES)
        self.batch_seconds = Histogram(SECONDS)
        self.commit_failures = 0
        self.decisions = 0
        self.rewards = dict.fromkeys(("duplicate", *OUTCOMES), 0)
        self.observations = 0
        self.expiries = 0
        self.sweeps = 0
        self.snapshots = 0
        self.snapshot_bytes = 0
        self.warnings = dict.fromkeys(WARNINGS, 0)
        self._begun: list[tuple[LiveLearner, tuple[int, ...]]] = []

    def hearing(self, warn: Warn) -> Warn:
        """The same warnings, counted."""

        def heard(event: str, **facts: object) -> None:
            self.warnings[event] = self.warnings.get(event, 0) + 1
            warn(event, **facts)

        return heard

    def begun(self, live: LiveLearner) -> None:
        """A learner is at the log's head; whatever its tally gains from here on is this batch's doing."""
        self._begun.append((live, _counts(live)))

    def saved(self, size: int) -> None:
        self.snapshots += 1
        self.snapshot_bytes += size

    def committed(self, operations: int, seconds: float) -> None:
        self.batch_sizes.observe(operations)
        self.batch_seconds.observe(seconds)
        for live, before in self._begun:
            decisions, observed, expiries, *rewards = map(sub, _counts(live), before)
            self.decisions += decisions
            self.observations += observed
            self.expiries += expiries
            for outcome, count in zip(self.rewards, rewards, strict=True):
                if count > 0:  # what was pending counts once more, as what became of it
                    self.rewards[outcome] += count
        self._begun.clear()

    def failed(self) -> None:
        """Nothing of the batch happened."""
        self.commit_failures += 1
        self._begun.clear()

    def dropped(self) -> None:
        """Nothing of it happened, and it will be done again."""
        self._begun.clear()
