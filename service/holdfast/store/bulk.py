"""The statements that carry the traffic, in each database's own way of taking many rows at once.

SQLAlchemy's way of building them costs more than running them; everything else in this package is built its way.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, Row

Rows = list[tuple[Any, ...]]

ROWS_AT_ONCE = 64


class Changes(NamedTuple):
    """What a transaction writes. No decision is both in `waiting` and in `settled`."""

    events: Rows  # learner, and the fields of an Event
    waiting: Rows  # learner, position, deadline
    settled: Rows  # learner, position
    heads: Rows  # learner, head


class Bulk(Protocol):
    """What a transaction of the log sends."""

    def lock(self, connection: Connection, learner_id: int) -> Row[Any] | None: ...
    def find(self, connection: Connection, learner_id: int, event_ids: Sequence[str]) -> Iterable[Row[Any]]: ...
    def said(self, connection: Connection, learner_id: int, positions: Sequence[int]) -> Iterable[Row[Any]]: ...
    def heard(self, connection: Connection, learner_id: int, positions: Sequence[int]) -> Iterable[Row[Any]]: ...
    def write(self, connection: Connection, changes: Changes) -> None: ...


class SQLite:
    """One prepared statement, many rows; the transaction itself is the lock."""

    LOCK = "SELECT head, mode, paused, spec FROM learners WHERE id = ?"
    # CROSS JOIN keeps this order: one look into the index for each wanted id, never a walk over the log.
    FIND = """
        SELECT e.position, e.kind, e.event_id, e.at, e.source, e.about, e.payload, w.deadline
        FROM json_each(?) CROSS JOIN events e ON e.learner_id = ? AND e.event_id = json_each.value
        LEFT JOIN waiting w ON w.learner_id = e.learner_id AND w.position = e.position
    """
    # Left to itself it walks over the learner's whole log instead.
    SAID = """
        SELECT e.position, e.kind, e.event_id, e.at, e.source, e.about, e.payload
        FROM json_each(?) CROSS JOIN events e INDEXED BY ix_events_about
        ON e.learner_id = ? AND e.about = json_each.value
        ORDER BY e.position
    """
    HEARD = SAID.replace("e.payload", "CASE e.kind WHEN 'step' THEN x'' ELSE e.payload END AS payload")
    INSERT_EVENTS = (
        "INSERT INTO events (learner_id, position, kind, event_id, at, source, about, payload) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    INSERT_WAITING = "INSERT INTO waiting (learner_id, position, deadline) VALUES (?, ?, ?)"
    SETTLE = "DELETE FROM waiting WHERE learner_id = ? AND position = ?"
    SET_HEAD = "UPDATE learners SET head = ?2 WHERE id = ?1"

    def lock(self, connection: Connection, learner_id: int) -> Row[Any] | None:
        return connection.exec_driver_sql(self.LOCK, (learner_id,)).first()

    def find(self, connection: Connection, learner_id: int, event_ids: Sequence[str]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self.FIND, (json.dumps(event_ids, ensure_ascii=False), learner_id))

    def said(self, connection: Connection, learner_id: int, positions: Sequence[int]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self.SAID, (json.dumps(positions), learner_id))

    def heard(self, connection: Connection, learner_id: int, positions: Sequence[int]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self.HEARD, (json.dumps(positions), learner_id))

    def write(self, connection: Connection, changes: Changes) -> None:
        _insert(connection, self.INSERT_EVENTS, changes.events)
        _insert(connection, self.INSERT_WAITING, changes.waiting)
        if changes.settled:
            connection.exec_driver_sql(self.SETTLE, changes.settled)
        if changes.heads:
            connection.exec_driver_sql(self.SET_HEAD, changes.heads)


def _insert(connection: Connection, statement: str, rows: Rows) -> None:
    """Many rows in one step: each step lets other threads in and waits for its turn to come back."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        connection.exec_driver_sql(_of_rows(statement, len(some)), tuple(chain.from_iterable(some)))


@cache
def _of_rows(statement: str, count: int) -> str:
    """An INSERT of so many rows; there are few enough of them for the driver to keep them all prepared."""
    row = statement.rpartition(" VALUES ")[2]
    return statement + f", {row}" * (count - 1)


class PostgreSQL:
    """One statement for everything, with a binary array for each column."""

    LOCK = "SELECT head, mode, paused, spec FROM learners WHERE id = %s FOR UPDATE"
    FIND = """
        SELECT e.position, e.kind, e.event_id, e.at, e.source, e.about, e.payload, w.deadline
        FROM unnest(%s::text[]) wanted (id) JOIN events e ON e.learner_id = %s AND e.event_id = wanted.id
        LEFT JOIN waiting w ON w.learner_id = e.learner_id AND w.position = e.position
    """
    SAID = """
        SELECT position, kind, event_id, at, source, about, payload
        FROM events WHERE learner_id = %s AND about = ANY(%s) ORDER BY position
    """
    HEARD = SAID.replace("payload", "CASE kind WHEN 'step' THEN ''::bytea ELSE payload END AS payload")
    WRITE = """
        WITH told AS (
            INSERT INTO events (learner_id, position, kind, event_id, at, source, about, payload)
            SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::text[], %b::text[],
                                 %b::bigint[], %b::text[], %b::bigint[], %b::bytea[])
        ), waits AS (
            INSERT INTO waiting (learner_id, position, deadline)
            SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[])
        ), settled AS (
            DELETE FROM waiting USING unnest(%b::bigint[], %b::bigint[]) AS gone (learner_id, position)
            WHERE waiting.learner_id = gone.learner_id AND waiting.position = gone.position
        )
        UPDATE learners SET head = moved.head FROM unnest(%b::bigint[], %b::bigint[]) AS moved (id, head)
        WHERE learners.id = moved.id
    """
    WIDTHS = (8, 3, 2, 2)  # columns of each of the changes

    def lock(self, connection: Connection, learner_id: int) -> Row[Any] | None:
        return connection.exec_driver_sql(self.LOCK, (learner_id,)).first()

    def find(self, connection: Connection, learner_id: int, event_ids: Sequence[str]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self.FIND, (list(event_ids), learner_id))

    def said(self, connection: Connection, learner_id: int, positions: Sequence[int]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self.SAID, (learner_id, list(positions)))

    def heard(self, connection: Connection, learner_id: int, positions: Sequence[int]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self.HEARD, (learner_id, list(positions)))

    def write(self, connection: Connection, changes: Changes) -> None:
        columns = [column for rows, width in zip(changes, self.WIDTHS, strict=True) for column in _columns(rows, width)]
        connection.exec_driver_sql(self.WRITE, tuple(columns))


def _columns(rows: Rows, width: int) -> Iterable[list[Any]]:
    return map(list, zip(*rows, strict=True)) if rows else ([] for _ in range(width))


_BULK: dict[str, Bulk] = {"sqlite": SQLite(), "postgresql": PostgreSQL()}


def bulk_of(connection: Connection) -> Bulk:
    """The statements of this connection's database."""
    return _BULK[connection.dialect.name]
