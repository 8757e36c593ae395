"""The learners' own rows: created, listed, changed, deleted."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from holdfast.store.dialects import bulk_of
from holdfast.store.insert import insert_if_new
from holdfast.store.tables import events, learners, waiting

NOT_A_NAME = "/"  # what no learner's name begins with
REMOVED_AT_ONCE = 1_000  # events


class LearnerRow(NamedTuple):
    """A learner as it is stored."""

    id: int
    name: str
    spec: str
    described: str
    mode: str
    paused: bool
    head: int
    created_at: int


_COLUMNS = tuple(learners.c[name] for name in LearnerRow._fields)


def find(connection: Connection, name: str, to_change: bool = False) -> LearnerRow | None:
    """With `to_change` the row is locked: nobody else changes what the caller is about to."""
    query = select(*_COLUMNS).where(learners.c.name == name)
    row = connection.execute(query.with_for_update() if to_change else query).first()
    return None if row is None else LearnerRow(*row)


def page(connection: Connection, after: str, limit: int, only: str | None = None) -> list[LearnerRow]:
    """Learners by name, from the first after `after`; just one, if the caller may see no other."""
    query = select(*_COLUMNS).where(learners.c.name > after, learners.c.spec != "")
    query = query.order_by(learners.c.name).limit(limit)
    if only is not None:
        query = query.where(learners.c.name == only)
    return [LearnerRow(*row) for row in connection.execute(query)]


def create(connection: Connection, name: str, spec: str, now: int) -> bool:
    """Whether there was none of this name; two who ask at the same moment get one learner."""
    row = {"name": name, "spec": spec, "described": spec, "mode": "online", "paused": False, "created_at": now}
    return insert_if_new(connection, learners, row)


def change(connection: Connection, learner_id: int, **values: Any) -> None:
    connection.execute(update(learners).where(learners.c.id == learner_id).values(**values))


def remove(connection: Connection, learner_id: int) -> None:
    """From the commit on nobody finds it. What it has left behind goes little by little: see `remove_some`."""
    change(connection, learner_id, name=f"{NOT_A_NAME}{learner_id}", spec="", paused=True)


def being_removed(connection: Connection) -> list[int]:
    """The learners that have something left to remove."""
    return bulk_of(connection).being_removed()


def remove_some(connection: Connection, learner_id: int) -> bool:
    """Some of its log, or the last of it: the foreign key takes the snapshots along. Whether anything is left."""
    first = connection.execute(select(func.min(events.c.position)).where(events.c.learner_id == learner_id)).scalar()
    if first is None:
        connection.execute(delete(learners).where(learners.c.id == learner_id))
        return False
    for table in (waiting, events):
        some = table.c.learner_id == learner_id, table.c.position < first + REMOVED_AT_ONCE
        connection.execute(delete(table).where(*some))
    return True
