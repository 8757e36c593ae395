"""Looking into the log costs what is found, not what is there."""

from pathlib import Path

from sqlalchemy import insert

from holdfast.store.database import Database
from holdfast.store.engine import connect
from holdfast.store.log import Event, Transaction, events_about, events_after, overdue
from holdfast.store.migrate import migrate
from holdfast.store.sqlite import SQLite
from holdfast.store.tables import events, learners, waiting
from tests.databases import fresh_url

EVENT = {"learner_id": 1, "kind": "decision", "at": 0, "about": None, "payload": b""}


def _add_learner(database: Database, number: int, paused: bool = False) -> None:
    with database.write() as connection:
        row = {
            "id": number,
            "name": f"learner {number}",
            "spec": "{}",
            "described": "{}",
            "paused": paused,
            "created_at": 0,
        }
        connection.execute(insert(learners).values(**row))


def test_what_was_said_of_decisions_is_found_by_decision_and_in_order(database: Database) -> None:
    _add_learner(database, 1)
    rows = [
        EVENT | {"position": 1, "event_id": "d/1"},
        EVENT | {"position": 2, "event_id": "d/2"},
        EVENT | {"position": 3, "event_id": "r/2", "kind": "reward", "about": 2},
        EVENT | {"position": 4, "event_id": "x/1", "kind": "expiry", "about": 1},
        EVENT | {"position": 5, "event_id": "x/2", "kind": "expiry", "about": 2},
    ]
    with database.write() as connection:
        connection.execute(insert(events), rows)
        said = events_about(connection, 1, [1, 2, 3])
    found = {about: [event.position for event in told] for about, told in said.items()}
    assert found == {1: [4], 2: [3, 5], 3: []}


def test_sqlite_finds_what_was_said_of_a_decision_without_walking_over_the_log(tmp_path: Path) -> None:
    database = Database(connect(fresh_url("sqlite", tmp_path)))
    migrate(database.engine)
    with database.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {SQLite.SAID}", ("[1]", 1)).all()
    database.close()
    assert any("ix_events_about (learner_id=? AND about=?)" in row[-1] for row in plan)


def test_paused_learners_do_not_keep_others_from_being_settled(database: Database) -> None:
    _add_learner(database, 1, paused=True)
    _add_learner(database, 2)
    with database.write() as connection:
        connection.execute(
            insert(waiting), [{"learner_id": number, "position": 1, "deadline": 10} for number in (1, 2)]
        )
        assert overdue(connection, 10, limit=1) == ["learner 2"]
        assert overdue(connection, 9, limit=1) == []


def test_who_has_waited_longest_is_settled_first_if_there_are_too_many(database: Database) -> None:
    for number in (1, 2, 3):
        _add_learner(database, number)
    waits = [
        {"learner_id": number, "position": 1, "deadline": deadline} for number, deadline in ((1, 9), (2, 7), (3, 8))
    ]
    with database.write() as connection:
        connection.execute(insert(waiting), waits)
        assert overdue(connection, 10, limit=2) == ["learner 2", "learner 3"]


def test_a_transaction_hears_what_was_said_before_and_what_it_has_buffered(database: Database) -> None:
    _add_learner(database, 1)
    with database.write() as connection:
        first = Transaction(connection)
        first.append(1, Event(1, "episode", "e/1", 0, None, None, b"start"))
        first.append(1, Event(2, "step", "s/1/1", 0, None, 1, b"large"))
        assert [event.position for event in first.said(1, 1)] == [2]
        first.flush()
        first.append(1, Event(3, "reward", "r/1/1", 0, None, 1, b"small"))
        assert [event.position for event in first.said(1, 1)] == [2, 3]
        first.flush()
    with database.write() as connection:
        later = Transaction(connection)
        later.append(1, Event(4, "finish", "f/1", 0, None, 1, b"end"))
        told = {event.event_id: event.payload for event in later.said(1, 1)}
        later.flush()
        later.flush()  # again, nothing happens
    assert told == {"s/1/1": b"", "r/1/1": b"small", "f/1": b"end"}  # a step is looked up by its id


def test_a_page_of_events_fits_into_so_many_bytes_but_has_one_at_least(database: Database) -> None:
    _add_learner(database, 1)
    rows = [EVENT | {"position": n, "event_id": f"d/{n}", "payload": b"x" * 100} for n in range(1, 6)]
    with database.write() as connection:
        connection.execute(insert(events), rows)
        sizes = [len(events_after(connection, 1, 0, 4, most)) for most in (1, 100, 250, 10_000, None)]
        assert events_after(connection, 1, 5, 4, 100) == []
    assert sizes == [1, 1, 2, 4, 4]
