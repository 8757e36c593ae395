"""Snapshots of the learners. They only save time when a process starts, so nobody waits for one to be written.

The writer takes one after a commit, when the learner is as the log has it; it is written later, in a transaction of its
own. One that the database does not take is not tried again: as many events later there is a newer one. One that is
still to be written when the process stops is written by the writer: the other thread may not get to it.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from holdfast.errors import Unavailable
from holdfast.hosting.live import Errand, LiveLearner, snapshot_of
from holdfast.hosting.meter import Meter
from holdfast.hosting.recover import Warn
from holdfast.store import snapshots
from holdfast.store.database import Database
from holdfast.store.snapshots import Snapshot
from holdfast.store.waiting import apart

EVERY = 10_000  # events
APART_S = 1.0  # two of one learner: under full load they would take more time than they save at the start


class Taken(NamedTuple):
    """A snapshot, and whose it is."""

    learner_id: int
    name: str
    snapshot: Snapshot


@dataclass(frozen=True)
class Saving:
    """Takes the snapshots of a host's learners, and writes them."""

    database: Database
    clock: Callable[[], int]
    meter: Meter
    warn: Warn
    _unwritten: dict[tuple[int, int], Taken] = field(init=False, default_factory=dict)  # by learner and position

    def errand(self, live: LiveLearner, is_leaving: bool) -> Errand | None:
        """The writing of a snapshot that was taken now, if one is due; to who leaves memory, whatever is new."""
        if not (live.position > live.snapshot_position if is_leaving else _is_due(live)):
            return None
        taken = self._take(live)
        return lambda database, ask: self._write(taken)

    def save_all(self, learners: Iterable[LiveLearner]) -> None:
        """At the end: what nobody may get to write any more, then whatever is new, most of it first."""
        for taken in list(self._unwritten.values()):
            self._write(taken)
        for live in sorted(learners, key=lambda live: live.snapshot_position - live.position):
            if live.position > live.snapshot_position:
                self._write(self._take(live))

    def _take(self, live: LiveLearner) -> Taken:
        taken = Taken(live.id, live.name, apart(partial(snapshot_of, live)))
        live.snapshot_position, live.snapshot_at = live.position, time.monotonic()
        self._unwritten[live.id, live.position] = taken
        return taken

    def _write(self, taken: Taken) -> None:
        learner_id, name, snapshot = taken
        try:
            with self.database.write() as connection:
                snapshots.save(connection, learner_id, snapshot, self.clock())
        except Unavailable as problem:
            self.warn("snapshot not saved", learner=name, bytes=len(snapshot.state), reason=str(problem))
        else:
            self.meter.saved(len(snapshot.state))
        finally:
            self._unwritten.pop((learner_id, snapshot.position), None)


def _is_due(live: LiveLearner) -> bool:
    return live.position - live.snapshot_position >= EVERY and time.monotonic() - live.snapshot_at >= APART_S
