"""What PostgreSQL is sent in its binary format, and what waits for the next round trip."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import SQLAlchemyError

from holdfast.errors import Unavailable
from holdfast.store import deadline, postgresql, snapshots
from holdfast.store.bulk import Changes, Locked, Overtaken, driver_of
from holdfast.store.database import Connection, Database
from holdfast.store.engine import connect
from holdfast.store.log import Event, Transaction, events_after
from holdfast.store.migrate import migrate
from holdfast.store.postgresql import PostgreSQL
from holdfast.store.tables import learners
from tests.databases import fresh_url


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(connect(fresh_url("postgresql", tmp_path)))
    migrate(database.engine)
    with database.write() as connection:
        row = {"id": 1, "name": "a", "spec": "{}", "described": "{}", "paused": True, "created_at": 0}
        connection.execute(insert(learners).values(**row))
    yield database
    database.close()


@pytest.mark.parametrize(
    ("kind", "sent", "values"),
    [
        ("bigint", postgresql._numbers, []),
        ("bigint", postgresql._numbers, [1, -1, 2**62, -(2**63)]),
        ("bigint", postgresql._numbers, [None, 7, None]),
        ("text", postgresql._texts, []),
        ("text", postgresql._texts, ["", None, "ä\U0001f600", '{quoted, "text"}', "NULL"]),
        ("bytea", postgresql._blobs, [b"", b"\x00\xff", b"\\x00"]),
    ],
)
def test_arrays_arrive_as_they_were_sent(
    database: Database, kind: str, sent: Callable[[Any], bytes], values: list[Any]
) -> None:
    with database.write() as connection:
        driver = driver_of(connection)
        told = driver.ask(f"SELECT unnest($1::{kind}[])", [sent(values)])
        read = {"bigint": postgresql._number, "text": postgresql._text, "bytea": postgresql._bytes}[kind]
        assert [read(told.get_value(row, 0)) for row in range(told.ntuples)] == values


def test_the_row_of_a_learner_is_read_as_it_is(database: Database) -> None:
    with database.write() as connection:
        assert PostgreSQL().lock(connection, 1) == (0, "online", True, "{}")
        assert PostgreSQL().lock(connection, 2) is None


def test_what_was_put_off_is_seen_by_whoever_asks_next(database: Database) -> None:
    with database.write() as connection:
        transaction = Transaction(connection)
        transaction.append(1, Event(1, "decision", "d/1", 0, None, None, b"one"), deadline=5)
        transaction.flush()
        assert connection.execute(text("SELECT count(*) FROM events")).scalar_one() == 1
        assert PostgreSQL().lock(connection, 1) is not None
    with database.read() as connection:
        assert [event.payload for event in events_after(connection, 1, 0)] == [b"one"]
        assert connection.execute(text("SELECT deadline FROM waiting")).scalar_one() == 5


def test_a_rule_that_is_broken_by_what_was_put_off_is_told_by_the_commit(database: Database) -> None:
    twice = [(1, position, "decision", "d/1", 0, None, None, b"") for position in (1, 2)]
    with pytest.raises(psycopg.IntegrityError, match="uq_events"), database.write() as connection:
        PostgreSQL().write(connection, Changes(twice, [], [], [(1, 2)]))
    with database.write() as connection:
        row = PostgreSQL().lock(connection, 1)
        assert row is not None
        assert row.head == 0


def _write_and_fail(connection: Connection) -> None:
    PostgreSQL().write(connection, Changes([(1, 1, "decision", "d/1", 0, None, None, b"")], [], [], [(1, 1)]))
    raise ZeroDivisionError


def test_a_refused_transaction_sends_nothing_of_what_it_put_off(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        _write_and_fail(connection)
    with database.write() as connection:
        assert connection.execute(text("SELECT count(*) FROM events")).scalar_one() == 0


def _fail_and_go_on(connection: Connection) -> None:
    """As a snapshot does that is not saved: what was put off before it fails with it."""
    twice = [(1, position, "decision", "d/1", 0, None, None, b"") for position in (1, 2)]
    PostgreSQL().write(connection, Changes(twice, [], [], [(1, 2)]))
    with suppress(SQLAlchemyError):
        connection.execute(text("SAVEPOINT a"))


def test_a_transaction_in_which_a_failure_was_passed_over_is_not_committed(database: Database) -> None:
    with pytest.raises(Unavailable), database.write() as connection:
        _fail_and_go_on(connection)


def test_statements_stay_prepared_after_a_savepoint_was_rolled_back(database: Database) -> None:
    with database.write() as connection:
        PostgreSQL().lock(connection, 1)
        nested = connection.begin_nested()
        connection.execute(text("SELECT 1"))
        nested.rollback()
        for _ in range(10):
            connection.execute(text("SELECT 1"))
        assert PostgreSQL().lock(connection, 1) is not None


def test_a_plan_made_for_small_tables_reads_no_more_when_they_are_large(database: Database) -> None:
    many, few = 5_000, 10
    with database.write() as connection:
        _grow(connection, 1, 50)
    with database.write() as connection:
        connection.execute(text("ANALYZE"))
    for first in range(1, 45, 4):  # more often than it takes PostgreSQL to settle on one plan
        _say_something_of(database, range(first, first + 4))
    with database.write() as connection:
        _grow(connection, 51, many)
    read = _say_something_of(database, range(many - few, many))
    assert 0 < read <= 10 * few


def _grow(connection: Connection, first: int, last: int) -> None:
    """Decisions that wait, and a reward said of each."""
    connection.execute(
        text("""
            INSERT INTO events (learner_id, position, kind, event_id, at, about, payload)
            SELECT 1, n, 'decision', 'd/' || n, 0, NULL::bigint, ''::bytea
            FROM generate_series(:first ::bigint, :last) n
            UNION ALL
            SELECT 1, 1000000 + n, 'reward', 'r/' || n, 0, n, ''::bytea FROM generate_series(:first ::bigint, :last) n
        """),
        {"first": first, "last": last},
    )
    connection.execute(
        text("INSERT INTO waiting SELECT 1, n, 0 FROM generate_series(:first ::bigint, :last) n"),
        {"first": first, "last": last},
    )


def _say_something_of(database: Database, positions: range) -> int:
    """Find decisions and what was said of them, settle them; how many rows that took to read."""
    bulk = PostgreSQL()
    with database.write() as connection:
        before = _rows_read(connection)
        found = list(bulk.find(connection, 1, [f"d/{position}" for position in positions]))
        said = list(bulk.said(connection, 1, positions)), list(bulk.heard(connection, 1, positions))
        assert len(found) == len(said[0]) == len(said[1]) == len(positions)
        news = [(1, 2_000_000 + p, "expiry", f"x/{p}", 0, None, p, b"") for p in positions]
        bulk.write(connection, Changes(news, [], [(1, position) for position in positions], [(1, 1)]))
        return _rows_read(connection) - before


def _rows_read(connection: Connection) -> int:
    read = "SELECT sum(seq_tup_read) + sum(idx_tup_fetch) FROM pg_stat_xact_user_tables"
    return int(connection.execute(text(read)).scalar_one() or 0)


def test_what_failed_before_a_snapshot_is_not_taken_for_a_snapshot_that_does_not_fit(database: Database) -> None:
    def write() -> None:
        with database.write() as connection:
            driver_of(connection).put_off("SELECT pg_sleep(9)")  # fails as on a full disk: the server gives up on it
            snapshots.save_if_it_fits(connection, 1, snapshots.Snapshot(1, b"state", "{}"), 0)

    with pytest.raises(Unavailable):
        write()


BELIEVED = Locked(0, "online", True, "{}")


def test_a_learner_that_is_as_believed_is_locked_without_a_question(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    round_trips: list[int] = []
    send = deadline.ImpatientConnection._send
    monkeypatch.setattr(
        deadline.ImpatientConnection, "_send", lambda self, some: round_trips.append(len(some)) or send(self, some)
    )
    _decide_believing(database, BELIEVED)
    assert round_trips == [6]  # begin, lock, event, wait, head, commit
    with database.read() as connection:
        assert len(events_after(connection, 1, 0)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        BELIEVED._replace(head=1),
        BELIEVED._replace(mode="frozen"),
        BELIEVED._replace(paused=False),
        BELIEVED._replace(spec="{ }"),
    ],
)
@pytest.mark.parametrize("asks", [False, True])
def test_who_is_wrong_about_a_learner_writes_nothing(database: Database, wrong: Locked, asks: bool) -> None:
    with pytest.raises(Overtaken):
        _decide_believing(database, wrong, asks)
    _nothing_was_written(database)


def _decide_believing(database: Database, believed: Locked, asks: bool = False) -> None:
    with database.write() as connection:
        transaction = Transaction(connection)
        transaction.lock(1, believed)
        if asks:
            transaction.look_up(1, ["d/0"])
        transaction.append(1, Event(1, "decision", "d/1", 0, None, None, b"one"), deadline=5)
        transaction.flush()


def test_who_is_wrong_about_a_learner_that_is_gone_writes_nothing(database: Database) -> None:
    with pytest.raises(Overtaken), database.write() as connection:
        Transaction(connection).lock(2, BELIEVED)
    _nothing_was_written(database)


def test_who_waits_for_a_learner_and_is_overtaken_meanwhile_writes_nothing(database: Database) -> None:
    problems: list[Exception] = []

    def believe() -> None:
        try:
            _decide_believing(database, BELIEVED)
        except Overtaken as problem:
            problems.append(problem)

    with database.write() as connection:
        other = Transaction(connection)
        other.lock(1)
        second = threading.Thread(target=believe)
        second.start()
        second.join(0.3)  # until it waits for the row
        assert second.is_alive()
        connection.execute(text("UPDATE learners SET head = 7"))
    second.join(10)
    assert len(problems) == 1
    _nothing_was_written(database)


def _nothing_was_written(database: Database) -> None:
    with database.write() as connection:  # the connection goes on
        assert connection.execute(text("SELECT count(*) FROM events")).scalar_one() == 0
        assert PostgreSQL().lock(connection, 1) is not None
