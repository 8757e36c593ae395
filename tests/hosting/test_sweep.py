"""What is due without anybody asking: settled once, and nobody waits for the look."""

import threading
from concurrent.futures import Future

import pytest
from sqlalchemy import text

from holdfast.hosting import host, recover, sweep
from holdfast.hosting.decide import Decide
from holdfast.hosting.learn import Claim, Reward
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.mailbox import Job
from holdfast.hosting.recover import Warn
from holdfast.hosting.settle import Settle
from holdfast.store.database import Connection, Database
from holdfast.store.learners import LearnerRow
from holdfast.store.log import events_after
from tests.hosting.harness import WITHIN_S, Clock, Driver, comes_true, driving


def test_what_nobody_asks_about_is_settled(driver: Driver, database: Database, clock: Clock) -> None:
    for i in range(5):
        driver.decide(f"d{i}")
    clock.pass_s(601)
    assert comes_true(lambda: driver.peek()[2].defaulted == 5)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM waiting")).scalar() == 0


def test_a_long_backlog_keeps_nobody_elses_waits_from_ending(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def settle(name: str) -> Settle:
        asked.append(name)
        return Settle(name)

    monkeypatch.setattr("holdfast.hosting.live.LiveLearner.settled_at_once", 2)
    monkeypatch.setattr(sweep, "Settle", settle)
    with driving(database, clock) as driver:
        for learner in ("home", "other"):
            driver.create(learner)
            for i in range(6):
                driver.decide(f"d{i}", learner=learner)
        clock.pass_s(601)
        assert comes_true(lambda: driver.peek()[2].defaulted + driver.peek("other")[2].defaulted == 12)
    assert {asked[i] for i in (0, 1)} == {asked[i] for i in (2, 3)} == {asked[i] for i in (4, 5)} == {"home", "other"}


def test_the_writer_answers_while_the_sweep_looks(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    looks, may_go_on = threading.Event(), threading.Event()
    request.addfinalizer(may_go_on.set)
    real = sweep.overdue

    def slow(*arguments: object) -> list[str]:
        looks.set()
        may_go_on.wait(WITHIN_S)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sweep, "overdue", slow)
    assert looks.wait(WITHIN_S)
    assert driver.decide("meanwhile").position == 1


@pytest.mark.parametrize("with_reward", [False, True])
def test_a_wait_whose_end_is_told_twice_at_once_ends_once(
    driver: Driver, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch, with_reward: bool
) -> None:
    monkeypatch.setattr(sweep, "overdue", lambda *_: [])
    driver.decide("one")
    clock.pass_s(601)
    rewards = [Reward("home", [Claim("one", 1.0, None, None)])] * with_reward
    together = [Job(operation, Future()) for operation in (Settle("home"), *rewards, Settle("home"))]
    driver.host.submit_all(together)
    for job in together:
        job.answer.exception(WITHIN_S)  # type: ignore[call-arg]
    with database.read() as connection:
        kinds = [event.kind for event in events_after(connection, 1, 0)]
    assert kinds.count("expiry") == 1
    tally = driver.peek()[2]
    assert (tally.learned, tally.defaulted) == (0, 1)
    assert driver.host.meter.commit_failures == 0  # which would have undone the one of them with the other


def test_an_end_that_cannot_be_settled_costs_those_who_asked_at_that_moment_nothing(
    driver: Driver, database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.create("broken")
    driver.decide("one", learner="broken")
    with database.write() as connection:
        connection.execute(text("UPDATE events SET payload = :nonsense"), {"nonsense": b"\x00"})
    driver.decide("before")
    monkeypatch.setattr(sweep, "overdue", lambda *_: [])
    clock.pass_s(601)
    revived: list[str] = []
    real = recover.revive

    def noted(connection: Connection, row: LearnerRow, warn: Warn) -> LiveLearner:
        revived.append(row.name)
        return real(connection, row, warn)

    monkeypatch.setattr(host, "revive", noted)
    jobs: list[Job] = [
        Job(Settle("broken"), Future()),
        Job(Decide("home", driver.ask("now")), Future()),
    ]
    driver.host.submit_all(jobs)
    settled, decided = (job.answer.exception(WITHIN_S) for job in jobs)  # type: ignore[call-arg]
    assert settled is not None
    assert decided is None
    driver.decide("after")
    assert "home" not in revived


def test_a_sweep_that_breaks_is_told_and_the_next_one_comes(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[str]:
        raise ZeroDivisionError

    monkeypatch.setattr(sweep, "overdue", broken)
    assert comes_true(lambda: sum("sweep failed" in warning for warning in driver.warnings) >= 2)
    assert driver.decide("still").position == 1


def test_what_a_deleted_learner_left_behind_is_removed_while_its_successor_serves(
    driver: Driver, database: Database
) -> None:
    for i in range(5):
        driver.decide(f"d{i}")
    driver.recreate()
    assert driver.decide("d0").position == 1
    assert comes_true(lambda: _learners_with_events(database) == {2})
    assert driver.reward("d0", 1.0).outcome == "learned"


def _learners_with_events(database: Database) -> set[int]:
    with database.read() as connection:
        return set(connection.execute(text("SELECT learner_id FROM events")).scalars())
