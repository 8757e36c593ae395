"""A learner is what its log has made it, whatever the snapshots say."""

import pytest
from sqlalchemy import select, text, update

from holdfast.errors import NotFound
from holdfast.hosting import apart
from holdfast.hosting.decide import Decide
from holdfast.hosting.live import GapInLog
from holdfast.store import tables
from holdfast.store.audit import Actor
from holdfast.store.database import Database
from tests.hosting.harness import Clock, Driver, driving
from tests.hosting.test_together import together


@pytest.fixture
def before(driver: Driver) -> tuple[int, bytes, object]:
    """A learner of eight events and a snapshot there, as it was when its process stopped."""
    for i in range(4):
        driver.decide(f"d{i}", seed=i)
        driver.reward(f"d{i}", 0.5)
    found = driver.peek()
    driver.stop()
    return found


def snapshots_at(database: Database) -> list[int]:
    with database.read() as connection:
        return list(connection.execute(select(tables.snapshots.c.position)).scalars())


def put_back(database: Database, head: int) -> None:
    """As if the log had been put back to an earlier time, and the snapshots had not."""
    with database.write() as connection:
        connection.execute(text("DELETE FROM events WHERE position > :head"), {"head": head})
        connection.execute(text("UPDATE learners SET head = :head"), {"head": head})


@pytest.mark.parametrize(
    "damage", [{"state": b"HOLDFAST junk"}, {"position": 3}, {"tally": "{"}, {"tally": '{"decisions": 9}'}]
)
def test_a_snapshot_that_is_not_as_it_was_saved_is_skipped_whatever_was_changed(
    before: tuple[int, bytes, object], database: Database, clock: Clock, damage: dict[str, object]
) -> None:
    with database.write() as connection:
        connection.execute(update(tables.snapshots).values(**damage))
    with driving(database, clock) as later:
        assert later.peek() == before
        assert any("snapshot skipped" in warning for warning in later.warnings)


def test_a_snapshot_ahead_of_its_log_is_gone_before_the_log_can_pass_it(
    before: tuple[int, bytes, object], database: Database, clock: Clock
) -> None:
    put_back(database, 7)
    with driving(database, clock) as later:
        assert later.reward("d3", 1.0).position == 8
        assert later.peek()[1] != before[1]
        after = later.peek()
        assert snapshots_at(database) == []
        assert any("ahead of the log" in warning for warning in later.warnings)
    with driving(database, clock) as last:
        assert last.peek() == after


def test_without_a_host_a_snapshot_ahead_of_its_log_is_not_read_and_gone_before_anything_is_written(
    before: tuple[int, bytes, object], database: Database
) -> None:
    warnings: list[str] = []

    def warn(event: str, **facts: object) -> None:
        warnings.append(event)

    put_back(database, 7)
    position, state = apart.export_state(database, "home", warn)
    assert (position, warnings) == (7, [])
    assert state != before[1]
    put_back(database, 0)
    assert apart.import_state(database, "home", before[1], Actor("me"), warn) == 1
    assert (snapshots_at(database), warnings) == ([], ["snapshot skipped"])


def test_a_log_that_is_put_back_under_a_running_process_is_read_again(driver: Driver, database: Database) -> None:
    driver.decide("d1")
    driver.reward("d1", 1.0)
    put_back(database, 1)
    assert driver.reward("d1", 0.5).position == 2


@pytest.mark.parametrize(
    "damage", ["UPDATE learners SET head = 7 WHERE id = 1", "DELETE FROM events WHERE position IN (4, 8)"]
)
def test_a_log_that_cannot_be_fails_its_own_learner_and_no_neighbour(
    before: tuple[int, bytes, object], database: Database, clock: Clock, damage: str
) -> None:
    with database.write() as connection:
        connection.execute(text("DELETE FROM snapshots"))
        connection.execute(text(damage))
    with driving(database, clock) as later:
        later.create("other")
        for position in (1, 2):
            asked = [Decide(name, later.ask(f"e{position}")) for name in ("other", "home")]
            (answered,), problem = together(later, *asked)
            assert (answered.position, type(problem)) == (position, GapInLog)
        assert later.host.meter.commit_failures == 0


def test_a_log_that_ends_before_its_head_is_not_written_to(
    before: tuple[int, bytes, object], database: Database, clock: Clock
) -> None:
    with database.write() as connection:
        connection.execute(text("DELETE FROM snapshots"))
        connection.execute(text("DELETE FROM events WHERE position = 8"))
    with driving(database, clock) as later:
        later.create("other")
        with pytest.raises(GapInLog):
            later.decide("d9")
        assert later.decide("d9", learner="other").position == 1


def test_a_learner_that_was_replaced_is_not_taken_for_a_damaged_one(driver: Driver) -> None:
    driver.decide("d1")
    driver.recreate()
    with pytest.raises(NotFound):
        driver.reward("d1", 1.0)
    assert driver.decide("d1").position == 1
