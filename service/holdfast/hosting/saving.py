"""Snapshots of the learners. They only save time when a process starts, so nobody waits for one to be written.

The writer takes one after a commit, when the learner is as the log has it; it is written later, in a transaction of its
own. One that the database does not take is not tried again: as many events later there is a newer one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from holdfast.errors import Unavailable
from holdfast.hosting.live import Errand, LiveLearner, snapshot_of
from holdfast.hosting.meter import Meter
from holdfast.hosting.recover import Warn
from holdfast.store import snapshots
from holdfast.store.database import Database
from holdfast.store.snapshots import Snapshot
from holdfast.store.waiting import apart

EVERY = 10_000  # events


@dataclass(frozen=True)
class Saving:
    """Takes the snapshots of a host's learners, and writes them."""

    database: Database
    clock: Callable[[], int]
    meter: Meter
    warn: Warn

    def errand(self, live: LiveLearner, is_leaving: bool) -> Errand | None:
        """The writing of a snapshot that was taken now, if one is due; to who leaves memory, whatever is new."""
        if live.position - live.snapshot_position < (1 if is_leaving else EVERY):
            return None
        learner_id, name, taken = live.id, live.name, self._take(live)
        return lambda database, ask: self._write(learner_id, name, taken)

    def save(self, live: LiveLearner) -> None:
        """Whatever is new."""
        if live.position > live.snapshot_position:
            self._write(live.id, live.name, self._take(live))

    def _take(self, live: LiveLearner) -> Snapshot:
        taken = apart(partial(snapshot_of, live))
        live.snapshot_position = live.position
        return taken

    def _write(self, learner_id: int, name: str, taken: Snapshot) -> None:
        try:
            with self.database.write() as connection:
                snapshots.save(connection, learner_id, taken, self.clock())
        except Unavailable as problem:
            self.warn("snapshot not saved", learner=name, bytes=len(taken.state), reason=str(problem))
        else:
            self.meter.saved(len(taken.state))
