"""The end of a reward wait: what is learned then, and what the counts say of it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from holdfast.hosting.settle import Settle
from holdfast.store.database import Database
from tests.hosting.harness import Clock, Driver, driving


@pytest.fixture
def driver(database: Database, clock: Clock) -> Iterator[Driver]:
    with driving(database, clock) as driver:
        yield driver


def counts(driver: Driver) -> dict[str, Any]:
    """Those that are not zero."""
    tally = asdict(driver.peek()[2])
    return {name: count for name, count in tally.items() if count and name != "weights"}


def wait_ends(driver: Driver, clock: Clock) -> None:
    clock.pass_s(601)
    driver.host.submit(Settle("home")).result(10)


def test_what_was_pending_is_learned_and_silence_defaults(driver: Driver, database: Database, clock: Clock) -> None:
    driver.create(reward={"aggregation": "sum"})
    for name in ("told", "silent"):
        driver.decide(name)
    for value in (0.1, 0.2, 0.3):
        driver.reward("told", value)
    assert counts(driver) == {"decisions": 2, "pending": 3}
    wait_ends(driver, clock)
    assert counts(driver) == {"decisions": 2, "learned": 3, "defaulted": 1}
    assert driver.host.meter.rewards == {
        "duplicate": 0, "learned": 3, "pending": 3, "late": 0, "ignored": 0, "defaulted": 1,
    }  # fmt: skip
    live = driver.peek()
    with driving(database, clock) as other:
        assert other.peek()[:2] == live[:2]
        assert counts(other) == {"decisions": 2, "learned": 3, "defaulted": 1}


def test_what_is_pending_when_the_learner_is_frozen_is_ignored(driver: Driver, clock: Clock) -> None:
    driver.create(reward={"aggregation": "mean"})
    driver.decide("one")
    driver.reward("one", 1.0)
    driver.change(mode="frozen")
    wait_ends(driver, clock)
    assert counts(driver) == {"decisions": 1, "ignored": 1}


@pytest.mark.parametrize("aggregation", ["first", "sum"])
def test_a_reward_that_was_answered_ignored_is_not_learned_after_a_thaw(
    driver: Driver, clock: Clock, aggregation: str
) -> None:
    driver.create(reward={"aggregation": aggregation})
    driver.decide("one")
    driver.change(mode="frozen")
    driver.host.look_first("home")
    assert driver.reward("one", 1.0).outcome == "ignored"
    before = driver.peek()[1]
    driver.change(mode="online")
    driver.host.look_first("home")
    wait_ends(driver, clock)
    assert driver.peek()[1] == before
    assert counts(driver) == {"decisions": 1, "ignored": 1}


def test_what_comes_after_a_thaw_is_learned_without_what_was_ignored(driver: Driver, clock: Clock) -> None:
    driver.create(reward={"aggregation": "sum"})
    driver.create("plain")
    driver.decide("one")
    driver.change(mode="frozen")
    driver.host.look_first("home")
    driver.reward("one", 0.9)
    driver.change(mode="online")
    driver.host.look_first("home")
    driver.reward("one", 0.2)
    wait_ends(driver, clock)
    driver.decide("one", learner="plain")
    driver.reward("one", 0.2, learner="plain")
    assert driver.peek()[1] == driver.peek("plain")[1]
    assert counts(driver) == {"decisions": 1, "learned": 1, "ignored": 1}
