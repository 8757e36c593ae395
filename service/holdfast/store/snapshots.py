"""Saved states: they only save time, so a damaged one is skipped, never trusted."""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import OperationalError

from holdfast.store.tables import snapshots

KEPT = 3  # newest snapshots of a learner


class Snapshot(NamedTuple):
    position: int
    state: bytes
    tally: str


def newest(connection: Connection, learner_id: int) -> list[Snapshot]:
    """The snapshots of a learner, newest first."""
    query = (
        select(snapshots.c.position, snapshots.c.state, snapshots.c.tally)
        .where(snapshots.c.learner_id == learner_id)
        .order_by(snapshots.c.position.desc())
        .limit(KEPT)
    )
    return [Snapshot(*row) for row in connection.execute(query)]


def save(connection: Connection, learner_id: int, snapshot: Snapshot, now: int) -> None:
    """Keep this one and the newest before it."""
    kept = [old.position for old in newest(connection, learner_id)]
    if snapshot.position in kept:
        return
    connection.execute(insert(snapshots).values(learner_id=learner_id, at=now, **snapshot._asdict()))
    outdated = snapshots.c.position.not_in([snapshot.position, *kept[: KEPT - 1]])
    connection.execute(delete(snapshots).where(snapshots.c.learner_id == learner_id, outdated))


def save_if_it_fits(connection: Connection, learner_id: int, snapshot: Snapshot, now: int) -> bool:
    """Within a larger transaction, which goes on if the database takes too long over it; whether it was saved."""
    try:
        with connection.begin_nested():
            save(connection, learner_id, snapshot, now)
    except OperationalError as problem:
        if problem.connection_invalidated:
            raise
        return False
    return True
