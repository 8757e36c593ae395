"""The statements that carry the traffic, in each database's own way of taking many rows at once.

SQLAlchemy's way of building them costs more than running them; everything else in this package is built its way.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, Row

Rows = list[tuple[Any, ...]]

_LOCK = "SELECT head, mode, paused, spec FROM learners WHERE id = {}"
_FIND = (
    "SELECT e.position, e.kind, e.event_id, e.at, e.source, e.about, e.payload, w.deadline FROM events e "
    "LEFT JOIN waiting w ON w.learner_id = e.learner_id AND w.position = e.position WHERE e.learner_id = {}"
)
_INSERT_EVENTS = "INSERT INTO events (learner_id, position, kind, event_id, at, source, about, payload) {}"
_INSERT_WAITING = "INSERT INTO waiting (learner_id, position, deadline) {}"


class Bulk(Protocol):
    """What a transaction of the log sends."""

    def lock(self, connection: Connection, learner_id: int) -> Row[Any] | None: ...
    def find(self, connection: Connection, learner_id: int, event_ids: Sequence[str]) -> Iterable[Row[Any]]: ...
    def insert_events(self, connection: Connection, rows: Rows) -> None: ...
    def insert_waiting(self, connection: Connection, rows: Rows) -> None: ...
    def delete_waiting(self, connection: Connection, rows: Rows) -> None: ...
    def set_head(self, connection: Connection, learner_id: int, head: int) -> None: ...


class SQLite:
    """One prepared statement, many rows; the transaction itself is the lock."""

    _lock = _LOCK.format("?")
    _find = _FIND.format("? AND e.event_id IN (SELECT value FROM json_each(?))")
    _insert_events = _INSERT_EVENTS.format("VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
    _insert_waiting = _INSERT_WAITING.format("VALUES (?, ?, ?)")

    def lock(self, connection: Connection, learner_id: int) -> Row[Any] | None:
        return connection.exec_driver_sql(self._lock, (learner_id,)).first()

    def find(self, connection: Connection, learner_id: int, event_ids: Sequence[str]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self._find, (learner_id, json.dumps(event_ids, ensure_ascii=False)))

    def insert_events(self, connection: Connection, rows: Rows) -> None:
        connection.exec_driver_sql(self._insert_events, rows)

    def insert_waiting(self, connection: Connection, rows: Rows) -> None:
        connection.exec_driver_sql(self._insert_waiting, rows)

    def delete_waiting(self, connection: Connection, rows: Rows) -> None:
        connection.exec_driver_sql("DELETE FROM waiting WHERE learner_id = ? AND position = ?", rows)

    def set_head(self, connection: Connection, learner_id: int, head: int) -> None:
        connection.exec_driver_sql("UPDATE learners SET head = ? WHERE id = ?", (head, learner_id))


class PostgreSQL:
    """One statement with a binary array for each column."""

    _lock = _LOCK.format("%s FOR UPDATE")
    _find = _FIND.format("%s AND e.event_id = ANY(%s)")
    _insert_events = _INSERT_EVENTS.format(
        "SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bigint[], %b::text[], "
        "%b::bigint[], %b::bytea[])"
    )
    _insert_waiting = _INSERT_WAITING.format("SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[])")

    def lock(self, connection: Connection, learner_id: int) -> Row[Any] | None:
        return connection.exec_driver_sql(self._lock, (learner_id,)).first()

    def find(self, connection: Connection, learner_id: int, event_ids: Sequence[str]) -> Iterable[Row[Any]]:
        return connection.exec_driver_sql(self._find, (learner_id, list(event_ids)))

    def insert_events(self, connection: Connection, rows: Rows) -> None:
        connection.exec_driver_sql(self._insert_events, _columns(rows))

    def insert_waiting(self, connection: Connection, rows: Rows) -> None:
        connection.exec_driver_sql(self._insert_waiting, _columns(rows))

    def delete_waiting(self, connection: Connection, rows: Rows) -> None:
        connection.exec_driver_sql(
            "DELETE FROM waiting USING unnest(%b::bigint[], %b::bigint[]) AS gone (learner_id, position) "
            "WHERE waiting.learner_id = gone.learner_id AND waiting.position = gone.position",
            _columns(rows),
        )

    def set_head(self, connection: Connection, learner_id: int, head: int) -> None:
        connection.exec_driver_sql("UPDATE learners SET head = %s WHERE id = %s", (head, learner_id))


def _columns(rows: Rows) -> tuple[Any, ...]:
    return tuple(map(list, zip(*rows, strict=True)))


_BULK: dict[str, Bulk] = {"sqlite": SQLite(), "postgresql": PostgreSQL()}


def bulk_of(connection: Connection) -> Bulk:
    """The statements of this connection's database."""
    return _BULK[connection.dialect.name]
