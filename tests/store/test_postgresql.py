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
from holdfast.store.bulk import Alike, Changes, Locked, Overtaken, driver_of
from holdfast.store.database import Connection, Database
from holdfast.store.engine import connect
from holdfast.store.idempotency import FirstAnswer
from holdfast.store.log import Event, Transaction, due, events_after, overdue
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
        assert PostgreSQL(driver_of(connection)).lock(1) == (0, "online", True, "{}")
        assert PostgreSQL(driver_of(connection)).lock(2) is None


def test_what_was_put_off_is_seen_by_whoever_asks_next(database: Database) -> None:
    with database.write() as connection:
        transaction = Transaction(connection)
        transaction.append(1, Event(1, "decision", "d/1", 0, None, None, b"one"), deadline=5)
        transaction.flush()
        assert connection.execute(text("SELECT count(*) FROM events")).scalar_one() == 1
        assert PostgreSQL(driver_of(connection)).lock(1) is not None
    with database.read() as connection:
        assert [event.payload for event in events_after(connection, 1, 0)] == [b"one"]
        assert connection.execute(text("SELECT deadline FROM waiting")).scalar_one() == 5


def test_a_rule_that_is_broken_by_what_was_put_off_is_told_by_the_commit(database: Database) -> None:
    twice = [(1, position, "decision", "d/1", 0, None, None, b"") for position in (1, 2)]
    with pytest.raises(psycopg.IntegrityError, match="uq_events"), database.write() as connection:
        PostgreSQL(driver_of(connection)).write(Changes(twice, [], [], [(1, 2)]))
    with database.write() as connection:
        row = PostgreSQL(driver_of(connection)).lock(1)
        assert row is not None
        assert row.head == 0


def _write_and_fail(connection: Connection) -> None:
    PostgreSQL(driver_of(connection)).write(Changes([(1, 1, "decision", "d/1", 0, None, None, b"")], [], [], [(1, 1)]))
    raise ZeroDivisionError


def test_a_refused_transaction_sends_nothing_of_what_it_put_off(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        _write_and_fail(connection)
    with database.write() as connection:
        assert connection.execute(text("SELECT count(*) FROM events")).scalar_one() == 0


def _fail_and_go_on(connection: Connection) -> None:
    """As a snapshot does that is not saved: what was put off before it fails with it."""
    twice = [(1, position, "decision", "d/1", 0, None, None, b"") for position in (1, 2)]
    PostgreSQL(driver_of(connection)).write(Changes(twice, [], [], [(1, 2)]))
    with suppress(SQLAlchemyError):
        connection.execute(text("SAVEPOINT a"))


def test_a_transaction_in_which_a_failure_was_passed_over_is_not_committed(database: Database) -> None:
    with pytest.raises(Unavailable), database.write() as connection:
        _fail_and_go_on(connection)


def test_statements_stay_prepared_after_a_savepoint_was_rolled_back(database: Database) -> None:
    with database.write() as connection:
        PostgreSQL(driver_of(connection)).lock(1)
        nested = connection.begin_nested()
        connection.execute(text("SELECT 1"))
        nested.rollback()
        for _ in range(10):
            connection.execute(text("SELECT 1"))
        assert PostgreSQL(driver_of(connection)).lock(1) is not None


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


def test_of_all_that_waits_only_the_oldest_is_read_to_tell_what_is_due(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE learners SET paused = false"))
        _grow(connection, 1, 50)
    with database.write() as connection:
        connection.execute(text("ANALYZE"))
    assert [_look_for_what_is_due(database)[0] for _ in range(10)] == [["a"]] * 10
    with database.write() as connection:
        _grow(connection, 51, 5_000)
    due_now, read = _look_for_what_is_due(database)
    assert due_now == ["a"]
    assert 0 < read <= 10


def _look_for_what_is_due(database: Database) -> tuple[list[str], int]:
    with database.write() as connection:
        before = _rows_read(connection)
        names = overdue(connection, 1, limit=5)
        return names, _rows_read(connection) - before


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
    with database.write() as connection:
        bulk, before = PostgreSQL(driver_of(connection)), _rows_read(connection)
        found = list(bulk.find(1, [f"d/{position}" for position in positions]))
        said = list(bulk.said(1, positions)), list(bulk.heard(1, positions))
        assert len(found) == len(said[0]) == len(said[1]) == len(positions)
        news = [(1, 2_000_000 + p, "expiry", f"x/{p}", 0, None, p, b"") for p in positions]
        bulk.write(Changes(news, [], [(1, position) for position in positions], [(1, 1)]))
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
ALIKE = Alike(1, 1, "decision", 3, ["d/1", "d/2"], [b"one", b"two"], 5)


def decide(transaction: Transaction) -> None:
    transaction.append(1, Event(1, "decision", "d/1", 0, None, None, b"one"), deadline=5)
    transaction.flush()


def decide_at_once(transaction: Transaction) -> None:
    transaction.append_alike(ALIKE)
    transaction.flush(is_last=True)


WAYS = [decide, decide_at_once]
Way = Callable[[Transaction], None]


# Begin, lock, event, wait, head and commit; or one statement for all.
@pytest.mark.parametrize(("way", "commands"), [(decide, 6), (decide_at_once, 1)])
def test_a_learner_that_is_as_believed_is_locked_without_a_question(
    database: Database, monkeypatch: pytest.MonkeyPatch, way: Way, commands: int
) -> None:
    round_trips: list[int] = []
    send = deadline.ImpatientConnection._send
    monkeypatch.setattr(
        deadline.ImpatientConnection, "_send", lambda self, some: round_trips.append(len(some)) or send(self, some)
    )
    _decide_believing(database, BELIEVED, way)
    assert round_trips == [commands]
    with database.read() as connection:
        assert events_after(connection, 1, 0)


@pytest.mark.parametrize("asks", [False, True])
def test_decisions_are_the_same_in_the_log_whether_they_came_in_one_statement_or_not(
    database: Database, asks: bool
) -> None:
    _decide_believing(database, BELIEVED, decide_at_once, asks)
    with database.read() as connection:
        told = [(event.position, event.event_id, event.at, event.payload) for event in events_after(connection, 1, 0)]
        assert told == [(1, "d/1", 3, b"one"), (2, "d/2", 3, b"two")]
        assert [tuple(row) for row in due(connection, 1, 5)] == [(1, 5), (2, 5)]
        assert connection.execute(text("SELECT head FROM learners")).scalar_one() == 2


@pytest.mark.parametrize("believed", [BELIEVED, BELIEVED._replace(head=7)])
def test_an_answer_is_kept_with_its_decisions_or_not_at_all(database: Database, believed: Locked) -> None:
    with suppress(Overtaken), database.write() as connection:
        transaction = Transaction(connection)
        transaction.lock(1, believed)
        transaction.remember("scope", "key", FirstAnswer(b"digest", 201, b"body"), 0)
        decide_at_once(transaction)
    with database.read() as connection:
        counts = [connection.execute(text(f"SELECT count(*) FROM {t}")).scalar_one() for t in ("events", "idempotency")]
        assert counts == ([2, 1] if believed is BELIEVED else [0, 0])


def test_what_breaks_a_rule_in_one_statement_leaves_nothing_of_it(database: Database) -> None:
    def decide_twice(transaction: Transaction) -> None:
        transaction.append_alike(ALIKE._replace(event_ids=["d/1", "d/1"]))
        transaction.flush(is_last=True)

    with pytest.raises(psycopg.IntegrityError, match="uq_events"):
        _decide_believing(database, BELIEVED, decide_twice)
    _nothing_was_written(database)


def test_what_fails_with_the_commit_of_one_statement_leaves_nothing_of_it(database: Database) -> None:
    with database.write() as connection:
        for statement in (
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''at the end''; END'",
            "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION fail()",
        ):
            connection.execute(text(statement))
    for _ in range(2):
        with pytest.raises(Unavailable):
            _decide_believing(database, BELIEVED, decide_at_once)
        _nothing_was_written(database)


def test_after_all_of_a_transaction_was_put_into_one_statement_nothing_but_its_commit_is_sent(
    database: Database,
) -> None:
    def decide_and_ask(transaction: Transaction) -> None:
        decide_at_once(transaction)
        transaction.connection.execute(text("SELECT 1"))

    with pytest.raises(Unavailable):
        _decide_believing(database, BELIEVED, decide_and_ask)
    _nothing_was_written(database)


@pytest.mark.parametrize(
    "wrong",
    [
        BELIEVED._replace(head=1),
        BELIEVED._replace(mode="frozen"),
        BELIEVED._replace(paused=False),
        BELIEVED._replace(spec="{ }"),
    ],
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("asks", [False, True])
def test_who_is_wrong_about_a_learner_writes_nothing(database: Database, wrong: Locked, way: Way, asks: bool) -> None:
    with pytest.raises(Overtaken):
        _decide_believing(database, wrong, way, asks)
    _nothing_was_written(database)


def _decide_believing(database: Database, believed: Locked, way: Way, asks: bool = False) -> None:
    with database.write() as connection:
        transaction = Transaction(connection)
        transaction.lock(1, believed)
        if asks:
            transaction.look_up(1, ["d/0"])
        way(transaction)


def test_who_is_wrong_about_a_learner_that_is_gone_writes_nothing(database: Database) -> None:
    with pytest.raises(Overtaken), database.write() as connection:
        Transaction(connection).lock(2, BELIEVED)
    _nothing_was_written(database)


@pytest.mark.parametrize("way", WAYS)
def test_who_waits_for_a_learner_and_is_overtaken_meanwhile_writes_nothing(database: Database, way: Way) -> None:
    problems: list[Exception] = []

    def believe() -> None:
        try:
            _decide_believing(database, BELIEVED, way)
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
        assert PostgreSQL(driver_of(connection)).lock(1) is not None
