"""SQLite: many rows in one step, since each step lets other threads in and waits for its turn to come back."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

from holdfast.store.bulk import BEING_REMOVED, OVERDUE, Alike, Changes, Locked, Rows
from holdfast.store.engine import SQLiteConnection

ROWS_AT_ONCE = (512, 64)  # or all that is left
LARGE = 128  # events, that it takes long to write


class SQLite:
    """The transaction itself is the lock."""

    LOCK = "SELECT head, mode, paused, spec FROM learners WHERE id = ? AND spec <> ''"
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
    INSERT_ALIKE = "INSERT INTO events (learner_id, position, kind, event_id, at, payload) VALUES "
    AWAIT_ALIKE = (
        "INSERT INTO waiting (learner_id, position, deadline) "
        "SELECT learner_id, position, ?4 FROM events WHERE learner_id = ?1 AND position BETWEEN ?2 AND ?3"
    )
    INSERT_WAITING = "INSERT INTO waiting (learner_id, position, deadline) VALUES (?, ?, ?)"
    SETTLE = "DELETE FROM waiting WHERE learner_id = ? AND position = ?"
    SET_HEAD = "UPDATE learners SET head = ?2 WHERE id = ?1"
    OVERDUE = OVERDUE.format(now="?1", limit="?2")

    def __init__(self, driver: SQLiteConnection) -> None:
        self._driver = driver

    def lock(self, learner_id: int, believed: Locked | None = None) -> Locked | None:
        row = self._driver.execute(self.LOCK, (learner_id,)).fetchone()
        return None if row is None else Locked(*row)

    def find(self, learner_id: int, event_ids: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        return self._rows(self.FIND, json.dumps(event_ids, ensure_ascii=False), learner_id)

    def said(self, learner_id: int, positions: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        return self._rows(self.SAID, json.dumps(positions), learner_id)

    def heard(self, learner_id: int, positions: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        return self._rows(self.HEARD, json.dumps(positions), learner_id)

    def overdue(self, now: int, limit: int) -> list[str]:
        return [name for (name,) in self._rows(self.OVERDUE, now, limit)]

    def being_removed(self) -> list[int]:
        return [number for (number,) in self._rows(BEING_REMOVED)]

    def write(self, changes: Changes, is_last: bool = False) -> None:
        """Where much is put off, it is as few steps as possible: each is a change from thread to thread and back."""
        for learner_id, head in changes.heads:
            self._driver.execute(self.SET_HEAD, (learner_id, head))
        if is_last and changes.size() >= LARGE:
            self._driver.put_off(partial(self._write, changes))
        else:
            self._write(changes)

    def _write(self, changes: Changes) -> None:
        for alike in changes.alike:
            _insert_alike(self._driver, alike)
            self._driver.execute(self.AWAIT_ALIKE, (alike.learner_id, alike.first, alike.last, alike.deadline))
        _insert(self._driver, self.INSERT_EVENTS, changes.events)
        _insert(self._driver, self.INSERT_WAITING, changes.waiting)
        if changes.settled:
            self._driver.executemany(self.SETTLE, changes.settled)

    def _rows(self, statement: str, *parameters: object) -> Rows:
        return self._driver.execute(statement, parameters).fetchall()


def _insert(driver: SQLiteConnection, statement: str, rows: Rows) -> None:
    for start, end in _at_once(len(rows)):
        driver.execute(_of_rows(statement, end - start), tuple(chain.from_iterable(rows[start:end])))


def _insert_alike(driver: SQLiteConnection, alike: Alike) -> None:
    for start, end in _at_once(len(alike.event_ids)):
        differing = zip(alike.event_ids[start:end], alike.payloads[start:end], strict=True)
        same = (alike.learner_id, alike.first + start, alike.kind, alike.at)
        driver.execute(_of_alike(end - start), (*same, *chain.from_iterable(differing)))


def _at_once(count: int) -> Iterator[tuple[int, int]]:
    """From where to where, in few different numbers: the driver keeps a statement prepared for each."""
    start = 0
    while left := count - start:
        some = next((number for number in ROWS_AT_ONCE if number <= left), left)
        yield start, start + some
        start += some


@cache
def _of_alike(count: int) -> str:
    """An INSERT of so many events at successive positions, with what they have in common said once."""
    rows = (f"(?1, ?2 + {i}, ?3, ?{5 + 2 * i}, ?4, ?{6 + 2 * i})" for i in range(count))
    return SQLite.INSERT_ALIKE + ", ".join(rows)


@cache
def _of_rows(statement: str, count: int) -> str:
    """An INSERT of so many rows; there are few enough of them for the driver to keep them all prepared."""
    row = statement.rpartition(" VALUES ")[2]
    return statement + f", {row}" * (count - 1)
