"""A large transaction, which SQLite writes with its commit, is like any other: all of it is there, or nothing."""

from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from holdfast.errors import Unavailable
from holdfast.store.bulk import Alike
from holdfast.store.database import BROKEN_RULES, Connection, Database
from holdfast.store.log import Event, Transaction, count_waiting, events_after
from holdfast.store.sqlite import LARGE, ROWS_AT_ONCE
from holdfast.store.tables import learners
from tests.databases import fresh_url, migrated

COUNT = LARGE + sum(ROWS_AT_ONCE) + 7
DEADLINE = 9


@pytest.fixture
def learner(database: Database) -> Database:
    _create(database)
    return database


def _create(database: Database) -> None:
    with database.write() as connection:
        row = {"id": 1, "name": "home", "spec": "{}", "described": "{}", "paused": False, "created_at": 0}
        connection.execute(insert(learners).values(**row))


def many(first: int = 1, count: int = COUNT, size: int = 10) -> list[Event]:
    return [Event(p, "decision", f"d/{p}", 0, None, None, bytes(size)) for p in range(first, first + count)]


def write(connection: Connection, events: list[Event]) -> None:
    transaction = Transaction(connection)
    transaction.lock(1)
    names, payloads = [event.event_id for event in events], [event.payload for event in events]
    transaction.append_alike(Alike(1, events[0].position, "decision", 0, names, payloads, DEADLINE))
    transaction.flush(is_last=True)


def kept(database: Database) -> tuple[list[Event], int, int]:
    with database.read() as connection:
        head = connection.execute(text("SELECT head FROM learners WHERE id = 1")).scalar_one()
        return events_after(connection, 1, 0, limit=10 * COUNT), count_waiting(connection, 1), head


def test_all_of_it_is_there_in_its_order_with_its_waits(learner: Database) -> None:
    with learner.write() as connection:
        write(connection, many())
    assert kept(learner) == (many(), COUNT, COUNT)


def test_if_one_event_breaks_a_rule_nothing_is_there_and_the_next_transaction_is_fine(learner: Database) -> None:
    broken = many()
    broken[-1] = broken[-1]._replace(event_id="d/1")
    with pytest.raises(BROKEN_RULES), learner.write() as connection:
        write(connection, broken)
    assert kept(learner) == ([], 0, 0)
    with learner.write() as connection:
        write(connection, many(count=3))
    assert kept(learner) == (many(count=3), 3, 3)


def test_what_was_given_up_is_not_written_with_the_next_commit(learner: Database) -> None:
    with suppress(ZeroDivisionError), learner.write() as connection:
        write(connection, many())
        raise ZeroDivisionError
    assert kept(learner) == ([], 0, 0)
    with learner.write() as connection:
        write(connection, many(count=2))
    assert kept(learner) == (many(count=2), 2, 2)


def test_without_room_nothing_is_there_and_with_room_again_everything(tmp_path: Path) -> None:
    """On SQLite; PostgreSQL's room is the disk's, see tests/chaos."""
    for database in migrated(fresh_url("sqlite", tmp_path)):
        _create(database)
        with database.write() as connection:
            _limit(connection, pages_more=5)
        with pytest.raises(Unavailable), database.write() as connection:
            write(connection, many(size=1_000))
        assert kept(database) == ([], 0, 0)
        with database.write() as connection:
            _limit(connection, pages_more=10_000)
            write(connection, many(size=1_000))
        assert kept(database) == (many(size=1_000), COUNT, COUNT)


def _limit(connection: Connection, pages_more: int) -> None:
    pages = connection.execute(text("PRAGMA page_count")).scalar_one()
    connection.execute(text(f"PRAGMA max_page_count={pages + pages_more}"))
