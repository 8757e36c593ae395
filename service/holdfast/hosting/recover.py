"""From the database to a live learner: the newest good snapshot, then the tail of the log."""

from typing import Protocol

from holdfast.errors import DamagedState, UnusableState
from holdfast.hosting.kinds import fresh
from holdfast.hosting.live import GapInLog, LiveLearner
from holdfast.store import snapshots
from holdfast.store.database import Connection
from holdfast.store.learners import LearnerRow
from holdfast.store.log import goes_beyond_head


class Warn(Protocol):
    """Where a warning goes."""

    def __call__(self, event: str, **facts: object) -> None: ...


def revive(connection: Connection, row: LearnerRow, warn: Warn) -> LiveLearner:
    """The learner as its log has made it; `GapInLog` if the log cannot be what somebody wrote in order."""
    if goes_beyond_head(connection, row.id):
        raise GapInLog(f"{row.name}: the log goes on beyond its head")
    live = fresh(row)
    for snapshot in snapshots.newest(connection, row.id):
        try:
            if not snapshot.is_intact:
                raise DamagedState("it is not as it was saved")
            live.restore(snapshot.state, snapshot.tally)
        except UnusableState as problem:
            warn("snapshot skipped", learner=row.name, position=snapshot.position, reason=str(problem))
            continue
        live.position = live.snapshot_position = snapshot.position
        break
    catch_up(connection, live)
    return live


def discard_ahead(connection: Connection, learner: LearnerRow | LiveLearner, warn: Warn) -> None:
    """Before the learner is written to, while its row is held: a snapshot ahead of the log is of another past."""
    for position in snapshots.remove_ahead(connection, learner.id):
        warn("snapshot skipped", learner=learner.name, position=position, reason="it is ahead of the log")


def catch_up(connection: Connection, live: LiveLearner) -> None:
    """Fold what the log holds after the learner's position."""
    live.open.clear()  # another process may have said something of them
    while events := live.next_events(connection):
        for event, related in events:
            live.replay(connection, event, related)
