"""What is remembered of open decisions is as the log has it, and bounded."""

import pytest

from holdfast.errors import Conflict
from holdfast.hosting import open as remembered
from holdfast.hosting.decide import Decide, joined
from holdfast.hosting.learn import Claim, Reward, Verdict
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.open import OpenDecisions
from holdfast.hosting.operation import Needs, OneByOne
from holdfast.store.bulk import Alike
from holdfast.store.database import Database
from holdfast.store.log import Event, Found, Transaction
from tests.hosting.harness import Driver, driving
from tests.hosting.test_together import together


class WhatARewardNeeds(OneByOne):
    """Asked on the thread that owns the learner."""

    def __init__(self, decision_id: str) -> None:
        self.learner, self.reward = "home", Reward("home", [Claim(decision_id, 1.0, None, None)])

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> Needs:
        return self.reward.needs(live)


def looked_up(driver: Driver, decision_id: str) -> int:
    needs: Needs = driver.host.submit(WhatARewardNeeds(decision_id)).result(10)
    return len(needs.events)


def test_a_reward_that_comes_soon_needs_no_look_into_the_log_and_a_second_one_does(driver: Driver) -> None:
    driver.decide("d1")
    assert looked_up(driver, "d1") == 0
    assert driver.reward("d1", 1.0).outcome == "learned"
    assert looked_up(driver, "d1") == 2
    assert driver.reward("d1", 1.0).outcome == "duplicate"
    with pytest.raises(Conflict):
        driver.reward("d1", 0.5)


def test_what_another_process_has_said_is_not_overlooked(driver: Driver, database: Database) -> None:
    driver.decide("d1")
    with driving(database, driver.clock) as other:
        assert other.reward("d1", 1.0).outcome == "learned"
    assert driver.reward("d1", 1.0).outcome == "duplicate"


def test_a_decision_whose_wait_has_ended_is_late_though_it_was_remembered(driver: Driver) -> None:
    driver.decide("d1")
    driver.clock.pass_s(600)
    assert driver.reward("d1", 1.0).outcome == "late"


def test_the_oldest_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "BYTES_MAX", 900)
    decisions = OpenDecisions()
    for position in range(1, 10):
        alike = Alike(1, position, "decision", 0, [], [], 9)
        decisions.remember({f"d/{position}": (alike, position, bytes(100))})
        decisions.trim()
    assert [position for position in range(1, 10) if f"d/{position}" in decisions] == [5, 6, 7, 8, 9]
    for position in (5, 9):  # one of the older, one of the newer
        found = decisions.forget(f"d/{position}")
        assert found == Found(Event(position, "decision", f"d/{position}", 0, None, None, bytes(100)), 9)
        assert decisions.forget(f"d/{position}") is None
    decisions.clear()
    assert not any(f"d/{position}" in decisions for position in range(1, 10))


def test_what_another_process_has_said_of_an_older_one_is_not_overlooked(
    driver: Driver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "BYTES_MAX", 600)
    driver.decide("d1")
    driver.decide("d2")
    assert looked_up(driver, "d1") == 0
    with driving(database, driver.clock) as other:
        assert other.reward("d1", 1.0).outcome == "learned"
    assert driver.reward("d1", 1.0).outcome == "duplicate"


def test_a_reward_finds_its_decision_though_its_neighbours_in_the_batch_push_it_out(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "BYTES_MAX", 500)
    driver.decide("d1")
    assert looked_up(driver, "d1") == 0
    many = Decide("home", joined([driver.ask(f"e{i}") for i in range(5)]))
    _, (verdict,) = together(driver, many, Reward("home", [Claim("d1", 1.0, None, None)]))
    assert isinstance(verdict, Verdict)
    assert verdict.outcome == "learned"
    assert looked_up(driver, "e0") == 2
