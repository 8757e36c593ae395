"""From the database to a live learner: the newest good snapshot, then the tail of the log."""

import json
from typing import Protocol

from holdfast.errors import UnusableState
from holdfast.hosting.blueprint import draw
from holdfast.hosting.live import LiveLearner, Tally
from holdfast.learners import codec
from holdfast.learners.modes import as_mode
from holdfast.store import snapshots
from holdfast.store.database import Connection
from holdfast.store.learners import LearnerRow
from holdfast.store.log import CHUNK, Event, events_after, events_at
from holdfast.store.snapshots import Snapshot


class Warn(Protocol):
    """Where a warning goes."""

    def __call__(self, event: str, **facts: object) -> None: ...


def revive(connection: Connection, row: LearnerRow, warn: Warn) -> LiveLearner:
    """The learner as its log has made it."""
    blueprint = draw(json.loads(row.spec))
    live = LiveLearner(row.id, row.name, row.spec, blueprint, as_mode(row.mode), row.paused, blueprint.bandit.init())
    for snapshot in snapshots.newest(connection, row.id):
        try:
            live.state = codec.restore(snapshot.state, blueprint.bandit)
        except UnusableState as problem:
            warn("snapshot skipped", learner=row.name, position=snapshot.position, reason=str(problem))
            continue
        live.position = live.snapshot_position = snapshot.position
        live.tally = Tally.from_json(snapshot.tally)
        break
    catch_up(connection, live)
    return live


def catch_up(connection: Connection, live: LiveLearner) -> None:
    """Fold what the log holds after the learner's position."""
    live.open.clear()  # another process may have said something of them
    while events := events_after(connection, live.id, live.position, CHUNK):
        decisions = _decisions_of(connection, live.id, events)
        for event in events:
            live.replay(event, decisions.get(event.about) if event.about is not None else None)


def _decisions_of(connection: Connection, learner_id: int, events: list[Event]) -> dict[int, Event]:
    """The decisions that these events are about."""
    wanted = {event.about for event in events if event.about is not None}
    near = {event.position: event for event in events if event.position in wanted}
    far = [position for position in wanted if position not in near]
    return near | events_at(connection, learner_id, far)


def snapshot_of(live: LiveLearner) -> Snapshot:
    return Snapshot(live.position, codec.encode(live.state), live.tally.to_json())
