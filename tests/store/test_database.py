"""A database that goes away and comes back, as the packages above see it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert, text
from sqlalchemy.exc import OperationalError

from holdfast.errors import Unavailable
from holdfast.store import deadline, learners, tables
from holdfast.store.bulk import driver_of
from holdfast.store.database import Connection, Database
from holdfast.store.engine import connect
from holdfast.store.log import overdue
from holdfast.store.migrate import migrate
from holdfast.store.presence import Presence
from tests.databases import fresh_url

BACK_WITHIN_S = 10.0


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[Database]:
    database = Database(connect(fresh_url("postgresql", tmp_path)))
    yield database
    database.close()


def _backend(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


def test_a_connection_that_the_server_has_closed_is_replaced_before_it_is_used(postgresql: Database) -> None:
    with postgresql.read() as connection:
        backend = _backend(connection)
    with _somebody_else(postgresql) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    with postgresql.write() as connection:
        assert _backend(connection) != backend


def test_the_connection_that_writes_stays_the_same_until_the_server_closes_it(postgresql: Database) -> None:
    with postgresql.write() as connection:
        first = _backend(connection)
    with postgresql.write() as connection:
        assert _backend(connection) == first
    with _somebody_else(postgresql) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
    with postgresql.write() as connection:
        assert _backend(connection) != first


def test_a_connection_that_the_server_closes_under_a_question_is_replaced(postgresql: Database) -> None:
    ask_for_the_end = "SELECT pg_terminate_backend(pg_backend_pid(), 1000)"
    with pytest.raises(Unavailable), postgresql.write() as connection:
        driver_of(connection).ask(ask_for_the_end)
    assert _until_back(postgresql)


@pytest.mark.parametrize("look", [learners.being_removed, lambda connection: overdue(connection, 1, limit=1)])
def test_who_only_looks_and_is_hung_up_on_tells_everybody_that_the_database_is_away(
    postgresql: Database, monkeypatch: pytest.MonkeyPatch, look: Callable[[Connection], list[object]]
) -> None:
    migrate(postgresql.engine)
    is_back = threading.Event()
    monkeypatch.setattr(postgresql._presence, "_answers", is_back.is_set)
    with pytest.raises(Unavailable):
        _look_as_the_server_hangs_up(postgresql, look)
    with pytest.raises(Unavailable, match="away"), postgresql.read():
        pass
    is_back.set()
    assert _until_back(postgresql)


def _look_as_the_server_hangs_up(database: Database, look: Callable[[Connection], list[object]]) -> None:
    with database.read() as connection:
        backend = driver_of(connection).info.backend_pid
        with _somebody_else(database) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
        look(connection)


def _somebody_else(database: Database) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(database.engine.url.set(drivername="postgresql").render_as_string(False))


def _until_back(database: Database) -> bool:
    """Whether it can be written again soon: everyone is refused until the lookout has found it."""
    end = time.monotonic() + BACK_WITHIN_S
    while time.monotonic() < end:
        try:
            with database.write() as connection:
                return _backend(connection) > 0
        except Unavailable:
            time.sleep(0.05)
    return False


def _sleep_its_way(connection: Connection) -> None:
    connection.execute(text("SELECT pg_sleep(3)"))


def _sleep_our_way(connection: Connection) -> None:
    driver_of(connection).ask("SELECT pg_sleep(3)")


@pytest.mark.parametrize("sleep", [_sleep_its_way, _sleep_our_way])
def test_a_server_that_says_nothing_is_hung_up_on(
    postgresql: Database, monkeypatch: pytest.MonkeyPatch, sleep: Callable[[Connection], None]
) -> None:
    monkeypatch.setattr(deadline, "SILENCE_MAX_S", 0.3)
    with pytest.raises(Unavailable), postgresql.write() as connection:
        sleep(connection)
    assert isinstance(connection, Connection)
    assert connection.invalidated or connection.closed


def test_a_statement_that_answers_in_time_is_left_alone(postgresql: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is silence that counts, not how long a transaction takes."""
    monkeypatch.setattr(deadline, "SILENCE_MAX_S", 1.0)
    with postgresql.write() as connection:
        before = _backend(connection)
        for _ in range(6):
            connection.execute(text("SELECT pg_sleep(0.25)"))
        assert _backend(connection) == before


def test_a_connection_in_use_while_the_database_is_closed_is_closed_when_it_is_given_back(
    postgresql: Database,
) -> None:
    with postgresql.write() as connection:
        driver = driver_of(connection)
        postgresql.close()
        assert not driver.closed
    assert driver.closed


def test_while_the_database_is_away_nobody_waits_and_one_thread_looks_out() -> None:
    there, looked = threading.Event(), threading.Semaphore(0)

    def answers() -> bool:
        looked.release()
        return there.is_set()

    presence = Presence(answers)
    presence.demand()
    presence.lost()
    presence.lost()
    assert looked.acquire(timeout=BACK_WITHIN_S)
    assert sum(thread.name == "holdfast-lookout" for thread in threading.enumerate()) == 1
    with pytest.raises(Unavailable):
        presence.demand()
    there.set()
    for thread in threading.enumerate():
        if thread.name == "holdfast-lookout":
            thread.join(BACK_WITHIN_S)
    presence.demand()


def test_a_transaction_that_sqlite_ended_for_want_of_room_is_not_taken_for_a_commit(tmp_path: Path) -> None:
    database = Database(connect(fresh_url("sqlite", tmp_path)))
    migrate(database.engine)
    with database.write() as connection:
        learners.create(connection, "there", "{}", now=1)
    with pytest.raises(Unavailable):
        _write_more_than_fits(database)
    with database.read() as connection:
        assert learners.find(connection, "new") is None
    database.close()


def _write_more_than_fits(database: Database) -> None:
    with database.write() as connection:
        there = learners.find(connection, "there")
        assert there is not None
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count={pages + 50}"))
        learners.create(connection, "new", "{}", now=2)
        row = {"learner_id": there.id, "position": 1, "tally": "{}", "digest": b"", "at": 2}
        with suppress(OperationalError):
            connection.execute(insert(tables.snapshots).values(state=bytes(1_000_000), **row))
