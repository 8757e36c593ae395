"""Snapshots: written beside the traffic, and nobody waits for one or is refused because of one."""

import threading
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from holdfast.hosting import host, recover, saving
from holdfast.hosting.live import LiveLearner
from holdfast.store import snapshots
from holdfast.store.database import Connection, Database
from holdfast.store.snapshots import Snapshot
from tests.hosting.harness import WITHIN_S, Clock, Driver, comes_true, driving


@pytest.fixture(autouse=True)
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "EVERY", 3)
    monkeypatch.setattr(saving, "APART_S", 0.0)


def saved(database: Database) -> list[int]:
    with database.read() as connection:
        return [snapshot.position for snapshot in snapshots.newest(connection, 1)]


def test_a_process_that_dies_leaves_a_snapshot_to_begin_with(
    driver: Driver, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_at: list[int] = []
    catch_up = recover.catch_up

    def watched(connection: Connection, live: LiveLearner) -> None:
        begun_at.append(live.position)
        catch_up(connection, live)

    for i in range(4):
        driver.decide(f"d{i}")
        driver.reward(f"d{i}", 0.5)
    assert comes_true(lambda: bool(saved(database)))
    newest = saved(database)[0]
    monkeypatch.setattr(recover, "catch_up", watched)
    with driving(database, clock) as other:  # while the first has not stopped
        assert other.peek() == driver.peek()
    assert begun_at[0] >= newest >= saving.EVERY


def test_a_snapshot_that_the_database_does_not_take_costs_nobody_an_answer(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*arguments: object) -> None:
        raise OperationalError("too large", None, Exception())

    def warned() -> int:
        return sum("snapshot not saved" in warning for warning in driver.warnings)

    monkeypatch.setattr(snapshots, "save", refuses)
    for i in range(3):
        assert driver.decide(f"d{i}").position == i + 1
    assert comes_true(lambda: warned() == 1)
    for i in range(3, 6):
        assert driver.decide(f"d{i}").position == i + 1
    assert comes_true(lambda: warned() == 2)


def test_however_much_comes_in_snapshots_are_some_time_apart(
    driver: Driver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "APART_S", 60.0)
    for i in range(3):
        driver.decide(f"d{i}")
    assert comes_true(lambda: saved(database) == [3])
    for i in range(3, 9):
        driver.decide(f"d{i}")
    assert driver.host.meter.snapshots == 1
    monkeypatch.setattr(saving, "APART_S", 0.0)
    driver.decide("last")
    assert comes_true(lambda: saved(database) == [10, 3])


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_nobody_waits_while_a_snapshot_is_written(driver: Driver, database: Database) -> None:
    driver.decide("first")  # reading what there is to begin with
    with database.write() as another:
        another.execute(text("LOCK TABLE snapshots"))
        another.execute(text("SELECT FROM learners FOR KEY SHARE"))  # as one that is half written
        for i in range(9):
            driver.decide(f"d{i}")
    assert comes_true(lambda: bool(saved(database)))
    assert driver.warnings == []


def test_a_learner_that_was_deleted_gets_no_snapshot(driver: Driver, database: Database) -> None:
    driver.recreate()
    with database.write() as connection:
        snapshots.save(connection, 1, Snapshot(1, b"state", "{}"), 0)
    assert saved(database) == []


def test_a_learner_that_nobody_asks_for_leaves_memory_and_comes_back_as_it_was(
    driver: Driver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks_another() -> bool:
        driver.peek("other")
        return driver.host.live_learners() < 2

    driver.decide("one")
    driver.reward("one", 0.5)
    before = driver.peek()
    driver.create("other")
    assert not asks_another()
    monkeypatch.setattr(host, "IDLE_S", 0.0)
    assert comes_true(asks_another)
    monkeypatch.undo()
    assert comes_true(lambda: saved(database) == [2])
    assert driver.peek() == before
    assert driver.reward("one", 0.5).outcome == "duplicate"


def test_learners_that_have_nothing_to_save_leave_memory_together(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        driver.create(name)
        driver.peek(name)
    monkeypatch.setattr(host, "IDLE_S", 0.0)
    driver.peek()
    assert comes_true(lambda: driver.host.live_learners() == 0)


def test_a_snapshot_that_is_being_written_when_the_process_stops_is_there_when_it_has(
    driver: Driver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, is_written = snapshots.save, threading.Event()
    is_begun = threading.Event()

    def slow(*arguments: Any) -> None:
        is_begun.set()
        is_written.wait(WITHIN_S)
        save(*arguments)

    monkeypatch.setattr(snapshots, "save", slow)
    for i in range(saving.EVERY):
        driver.decide(f"d{i}")
    assert is_begun.wait(WITHIN_S)
    threading.Timer(0.3, is_written.set).start()
    driver.stop()
    assert saved(database) == [saving.EVERY]


def test_who_has_most_to_save_is_saved_first(
    driver: Driver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, order = snapshots.save, []

    def watched(connection: Connection, learner_id: int, *others: Any) -> None:
        order.append(learner_id)
        save(connection, learner_id, *others)

    monkeypatch.setattr(snapshots, "save", watched)
    driver.create("busy")
    driver.decide("one")
    for i in range(2):
        driver.decide(f"d{i}", learner="busy")
    driver.stop()
    assert order == [2, 1]
