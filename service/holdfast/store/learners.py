"""The learners' own rows: created, listed, changed, deleted."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from holdfast.store.tables import learners


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
    query = select(*_COLUMNS).where(learners.c.name > after).order_by(learners.c.name).limit(limit)
    if only is not None:
        query = query.where(learners.c.name == only)
    return [LearnerRow(*row) for row in connection.execute(query)]


def create(connection: Connection, name: str, spec: str, now: int) -> bool:
    """Whether there was none of this name; two who ask at the same moment get one learner."""
    row = {"name": name, "spec": spec, "described": spec, "mode": "online", "paused": False, "created_at": now}
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    made = insert(learners).values(row).on_conflict_do_nothing().returning(learners.c.id)
    return connection.execute(made).first() is not None


def change(connection: Connection, learner_id: int, **values: Any) -> None:
    connection.execute(update(learners).where(learners.c.id == learner_id).values(**values))


def remove(connection: Connection, learner_id: int) -> None:
    """The learner and, by the foreign keys, its log and snapshots."""
    connection.execute(delete(learners).where(learners.c.id == learner_id))
