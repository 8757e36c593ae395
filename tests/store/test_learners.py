"""The learners' own rows."""

import pytest
from sqlalchemy import func, select

from holdfast.store import learners
from holdfast.store.database import Connection, Database
from holdfast.store.learners import REMOVED_AT_ONCE
from holdfast.store.log import Event, Transaction
from holdfast.store.snapshots import Snapshot, save
from holdfast.store.tables import events, snapshots, waiting

LONG = 2 * REMOVED_AT_ONCE + 5


def a_learner(database: Database, name: str, length: int) -> int:
    """With a log of decisions that all wait, and a snapshot."""
    with database.write() as connection:
        learners.create(connection, name, "{}", 0)
        row = learners.find(connection, name)
        assert row is not None
        transaction = Transaction(connection)
        for position in range(1, length + 1):
            event = Event(position, "decision", f"d/{position}", 0, None, None, b"")
            transaction.append(row.id, event, deadline=position)
        transaction.flush()
        save(connection, row.id, Snapshot(length, b"state", "{}"), 0)
        return row.id


def left_of(connection: Connection, learner_id: int) -> list[int]:
    """How many rows of each table are the learner's."""
    counts = (
        select(func.count()).select_from(table).where(table.c.learner_id == learner_id)
        for table in (events, waiting, snapshots)
    )
    return [connection.execute(count).scalar_one() for count in counts]


def test_a_removed_learner_is_not_found_nor_listed_and_its_name_is_free(database: Database) -> None:
    removed = a_learner(database, "home", 1)
    a_learner(database, "other", 1)
    with database.write() as connection:
        learners.remove(connection, removed)
    with database.write() as connection:
        assert learners.find(connection, "home") is None
        assert [row.name for row in learners.page(connection, "", 10)] == ["other"]
        assert Transaction(connection).lock(removed) is None
        assert learners.create(connection, "home", "{}", 0)
        again = learners.find(connection, "home")
    assert again is not None
    assert again.id != removed


def test_what_a_removed_learner_leaves_goes_little_by_little_and_nobody_elses(database: Database) -> None:
    removed, kept = a_learner(database, "home", LONG), a_learner(database, "other", 3)
    with database.write() as connection:
        assert learners.being_removed(connection) == []
        learners.remove(connection, removed)
    left = []
    is_more = True
    while is_more:
        with database.write() as connection:
            assert learners.being_removed(connection) == [removed]
            is_more = learners.remove_some(connection, removed)
            left.append(left_of(connection, removed))
    assert left == [
        [LONG - REMOVED_AT_ONCE, LONG - REMOVED_AT_ONCE, 1],
        [LONG - 2 * REMOVED_AT_ONCE, LONG - 2 * REMOVED_AT_ONCE, 1],
        [0, 0, 1],
        [0, 0, 0],
    ]
    with database.read() as connection:
        assert learners.being_removed(connection) == []
        assert left_of(connection, kept) == [3, 3, 1]


@pytest.mark.parametrize("length", [0, 1])
def test_two_who_remove_the_same_learner_do_not_mind_each_other(database: Database, length: int) -> None:
    removed = a_learner(database, "home", length)
    with database.write() as connection:
        learners.remove(connection, removed)
    with database.write() as connection:
        while learners.remove_some(connection, removed):
            pass
        assert not learners.remove_some(connection, removed)
