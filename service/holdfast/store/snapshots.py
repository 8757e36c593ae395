"""Saved states: they only save time, so a damaged one is skipped, never trusted."""

import hashlib
from typing import NamedTuple

from sqlalchemy import Connection, ScalarSelect, delete, select
from sqlalchemy.exc import OperationalError

from holdfast.store.insert import insert_if_new
from holdfast.store.tables import learners, snapshots

KEPT = 3  # newest snapshots of a learner


class Snapshot(NamedTuple):
    position: int
    state: bytes
    tally: str
    is_intact: bool = True  # as it was saved: the state, and what it is the state of


def newest(connection: Connection, learner_id: int) -> list[Snapshot]:
    """The snapshots of a learner, newest first; none that is ahead of its log."""
    query = (
        select(snapshots.c.position, snapshots.c.state, snapshots.c.tally, snapshots.c.digest)
        .where(snapshots.c.learner_id == learner_id, snapshots.c.position <= _head(learner_id))
        .order_by(snapshots.c.position.desc())
        .limit(KEPT)
    )
    rows = connection.execute(query)
    return [Snapshot(*row[:3], is_intact=row.digest == _digest(row.position, row.state, row.tally)) for row in rows]


def remove_ahead(connection: Connection, learner_id: int) -> list[int]:
    """The positions of those that were ahead of the log: as soon as it had passed them, nobody could tell any more."""
    ahead = (snapshots.c.learner_id == learner_id, snapshots.c.position > _head(learner_id))
    positions = list(connection.execute(select(snapshots.c.position).where(*ahead)).scalars())
    if positions:
        connection.execute(delete(snapshots).where(*ahead))
    return positions


def _head(learner_id: int) -> ScalarSelect[int]:
    return select(learners.c.head).where(learners.c.id == learner_id).scalar_subquery()


def save(connection: Connection, learner_id: int, snapshot: Snapshot, now: int) -> None:
    """Keep this one and the newest before it; none of a learner that is gone."""
    if not _is_there(connection, learner_id):
        return
    position, state, tally, _ = snapshot
    row = {"position": position, "state": state, "tally": tally, "digest": _digest(position, state, tally), "at": now}
    insert_if_new(connection, snapshots, {"learner_id": learner_id, **row})
    outdated = snapshots.c.position.not_in([position, *_positions(connection, learner_id)])
    connection.execute(delete(snapshots).where(snapshots.c.learner_id == learner_id, outdated))


def _positions(connection: Connection, learner_id: int) -> list[int]:
    """Of the newest, the last first."""
    query = select(snapshots.c.position).where(snapshots.c.learner_id == learner_id)
    return list(connection.execute(query.order_by(snapshots.c.position.desc()).limit(KEPT)).scalars())


def _is_there(connection: Connection, learner_id: int) -> bool:
    query = select(learners.c.id).where(learners.c.id == learner_id, learners.c.spec != "")
    return connection.execute(query).first() is not None


def _digest(position: int, state: bytes, tally: str) -> bytes:
    digest = hashlib.sha256(f"{position} {len(state)} {tally}".encode())
    digest.update(state)
    return digest.digest()


def save_if_it_fits(connection: Connection, learner_id: int, snapshot: Snapshot, now: int) -> bool:
    """Within a larger transaction, which goes on if the database takes too long over it; whether it was saved."""
    connection.execute(select(1))  # what was put off is sent with it: if that fails, it is not the snapshot's doing
    try:
        with connection.begin_nested():
            save(connection, learner_id, snapshot, now)
    except OperationalError as problem:
        if problem.connection_invalidated:
            raise
        return False
    return True
