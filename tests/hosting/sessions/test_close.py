"""What is learned of an episode when it ends, and what is not."""

import pytest
from sqlalchemy import text

from holdfast.errors import Conflict
from holdfast.hosting.sessions.records import LearnedRecord, unpack
from holdfast.store.database import Database
from tests.hosting.harness import Clock
from tests.hosting.sessions.harness import WAIT_S, SessionDriver, candidates, playing, wait_until


@pytest.fixture
def clock() -> Clock:
    return Clock()


def learned(driver: SessionDriver) -> LearnedRecord:
    [event] = driver.log("learned")
    return unpack(event.payload, LearnedRecord)


def change_mode(database: Database, mode: str) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE learners SET mode = :mode"), {"mode": mode})


def test_silence_is_learned_as_the_default_if_there_is_one(database: Database, clock: Clock) -> None:
    with playing(database, clock) as driver:
        driver.create(reward={"default": 0.25})
        driver.begin("e")
        driver.step("e", 0)
        driver.step("e", 1)
        clock.pass_s(WAIT_S + 1)
        wait_until(lambda: bool(driver.log("learned")))
        record = learned(driver)
        assert (record.steps, record.rewards, record.defaulted) == ([1], [0.25], [1])


def test_the_default_is_beside_what_was_told_and_no_more_than_is_left_of_the_episode(
    database: Database, clock: Clock
) -> None:
    with playing(database, clock) as driver:
        driver.create(reward={"default": 0.25})
        driver.begin("e")
        for state in range(3):
            driver.step("e", state)
        driver.tell("e", 1, 0.625)
        clock.pass_s(WAIT_S + 1)
        wait_until(lambda: bool(driver.log("learned")))
        record = learned(driver)
        assert (record.rewards, record.defaulted) == ([0.625, 0.25, 0.125], [2, 3])


def test_a_late_reward_told_again_has_no_weight_though_its_step_was_learned_with_the_default(
    database: Database, clock: Clock
) -> None:
    with playing(database, clock) as driver:
        driver.create(reward={"default": 0.25})
        driver.begin("e")
        driver.step("e", 0)
        driver.step("e", 1)
        clock.pass_s(WAIT_S + 1)
        assert driver.tell("e", 1, 0.5).outcome == "late"
        again = driver.tell("e", 1, 0.5)
        assert learned(driver).defaulted == [1]
        assert (again.outcome, again.weight) == ("duplicate", None)


@pytest.mark.parametrize("is_finished_first", [False, True])
def test_where_steps_share_a_model_the_finish_tells_what_the_last_step_led_to(
    database: Database, clock: Clock, is_finished_first: bool
) -> None:
    with playing(database, clock) as driver:
        driver.create(stationary=True)
        for episode, following in (("unknown", None), ("known", candidates(7))):
            driver.begin(episode)
            for state in range(3):
                driver.step(episode, state)
            if is_finished_first:
                driver.finish(episode, following)
            outcomes = [driver.tell(episode, step, 0.1).outcome for step in (1, 3, 2)]
            assert outcomes == ["pending", "pending", "learned" if is_finished_first else "pending"]
            assert driver.finish(episode, following).outcome == "learned"
        records = [unpack(event.payload, LearnedRecord) for event in driver.log("learned")]
        assert [record.steps for record in records] == [[1, 2], [1, 2, 3]]


def test_where_steps_share_a_model_a_finish_after_the_time_out_is_too_late(database: Database, clock: Clock) -> None:
    with playing(database, clock) as driver:
        driver.create(stationary=True)
        driver.begin("e")
        for state in range(3):
            driver.step("e", state)
            driver.tell("e", state + 1, 0.1)
        clock.pass_s(WAIT_S + 1)
        wait_until(lambda: bool(driver.log("learned")))
        assert learned(driver).steps == [1, 2]
        with pytest.raises(Conflict):
            driver.finish("e", candidates(7))


def test_a_reward_told_to_a_frozen_learner_is_not_learned_by_one_that_has_thawed(
    database: Database, clock: Clock
) -> None:
    with playing(database, clock) as driver:
        driver.create()
        driver.begin("e")
        for state in range(3):
            driver.step("e", state)
        change_mode(database, "frozen")
        assert driver.tell("e", 1, 0.1).outcome == "ignored"
        change_mode(database, "online")
        assert [driver.tell("e", step, 0.1).outcome for step in (2, 3)] == ["pending", "learned"]
        assert learned(driver).steps == [2, 3]


def test_a_learner_that_was_frozen_before_the_end_learns_nothing_of_the_episode(
    database: Database, clock: Clock
) -> None:
    with playing(database, clock) as driver:
        driver.create(reward={"default": 0.1})
        driver.begin("e")
        driver.step("e", 0)
        driver.tell("e", 1, 0.1)
        driver.step("e", 1)
        change_mode(database, "frozen")
        before = driver.peek()[1]
        clock.pass_s(WAIT_S + 1)
        wait_until(lambda: bool(driver.log("learned")))
        assert learned(driver).steps == []
        assert driver.peek()[1] == before


def test_an_episode_whose_time_has_run_out_takes_no_step_and_no_finish_even_before_it_is_closed(
    database: Database, clock: Clock
) -> None:
    with playing(database, clock) as driver:
        driver.create()
        for number in range(20):  # the sweep may come first, but not every time
            driver.begin(f"step-{number}")
            driver.begin(f"finish-{number}")
            clock.pass_s(WAIT_S + 1)
            with pytest.raises(Conflict):
                driver.step(f"step-{number}")
            with pytest.raises(Conflict):
                driver.finish(f"finish-{number}")
