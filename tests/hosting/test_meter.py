"""What the writer counts: what was committed, once, and nothing that was not."""

import pytest
from sqlalchemy import text

from holdfast.errors import Unavailable
from holdfast.hosting import saving
from holdfast.store.database import Database
from tests.hosting.harness import Clock, Driver, comes_true, driving


def _rename(database: Database, table: str, name: str) -> None:
    with database.write() as connection:
        connection.execute(text(f"ALTER TABLE {table} RENAME TO {name}"))


def test_decisions_and_rewards_are_counted_by_what_became_of_them(driver: Driver, clock: Clock) -> None:
    for name in ("one", "two", "three"):
        driver.decide(name)
    driver.decide("one")  # a repeat
    for _ in range(3):
        driver.reward("one", 0.5)
    clock.pass_s(601)
    driver.reward("two", 0.5)
    meter = driver.host.meter
    assert meter.decisions == 3
    assert meter.rewards["learned"] == 1
    assert meter.rewards["duplicate"] == 2
    assert meter.rewards["late"] == 1
    assert 1 <= meter.expiries == meter.rewards["defaulted"] <= 2  # the sweep may have come for the third
    assert sum(meter.batch_sizes.counts) == sum(meter.batch_seconds.counts) >= 8
    assert meter.batch_seconds.total > 0.0


def test_what_was_not_committed_is_a_failure_and_nothing_else(driver: Driver, database: Database) -> None:
    driver.decide("one")
    _rename(database, "waiting", "away")
    for _ in range(2):
        with pytest.raises(Unavailable):
            driver.decide("two")
    _rename(database, "away", "waiting")
    driver.decide("two")
    assert driver.host.meter.decisions == 2
    assert driver.host.meter.commit_failures >= 2
    assert driver.host.meter.warnings["commit failed"] >= 2


def test_what_another_process_did_is_not_counted_here(driver: Driver, database: Database, clock: Clock) -> None:
    with driving(database, clock) as other:
        other.decide("one")
        other.reward("one", 0.5)
        driver.decide("two")
        assert (driver.host.meter.decisions, driver.host.meter.rewards["learned"]) == (1, 0)


def test_snapshots_written_and_skipped_are_counted(driver: Driver, database: Database, clock: Clock) -> None:
    for i in range(10):
        driver.decide(f"d{i}", seed=i)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "EVERY", 5)
        driver.decide("last")
    assert comes_true(lambda: driver.host.meter.snapshots == 1)
    driver.stop()
    with database.write() as connection:
        (size,) = connection.execute(text("SELECT length(state) FROM snapshots")).scalars()
        connection.execute(text("UPDATE snapshots SET state = :junk"), {"junk": b"HOLDFAST junk"})
    assert driver.host.meter.snapshot_bytes == size
    with driving(database, clock) as reborn:
        reborn.peek()
        assert reborn.host.meter.warnings["snapshot skipped"] == 1
