"""Everything that real traffic does to an episode: on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import wait

import numpy as np
import pytest
from sqlalchemy import text

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.hosting.decide import Decide
from holdfast.hosting.sessions.episode import Begin
from holdfast.hosting.sessions.records import LearnedRecord, unpack
from holdfast.hosting.sessions.reward import RewardStep
from holdfast.hosting.sessions.step import Step
from holdfast.learners import codec
from holdfast.learners.mdp import Transition
from holdfast.store.database import Database
from tests.hosting.harness import Clock, Driver
from tests.hosting.sessions.harness import WAIT_S, SessionDriver, candidates, learner_of, playing, wait_until


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(database: Database, clock: Clock) -> Iterator[SessionDriver]:
    with playing(database, clock) as driver:
        driver.create()
        yield driver


def kinds(driver: SessionDriver) -> list[str]:
    return [event.kind for event in driver.log() if event.kind != "plan"]


def learned(driver: SessionDriver) -> LearnedRecord:
    [event] = driver.log("learned")
    return unpack(event.payload, LearnedRecord)


def open_episodes(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM waiting")).scalar_one())


def test_an_episode_is_learned_as_a_whole_when_its_last_reward_is_there(
    driver: SessionDriver, database: Database
) -> None:
    assert driver.begin("e").episode_length == 3
    chosen = [driver.step("e", state).decision.chosen for state in (0, 1, 2)]
    assert [driver.tell("e", step, 0.1 * step).outcome for step in (1, 2)] == ["pending", "pending"]
    last = driver.tell("e", 3, 0.3)
    assert last.outcome == "learned"
    assert last.weight is not None
    assert open_episodes(database) == 0
    mdp = learner_of()
    episode = [
        Transition(step, candidates(step - 1)[chosen[step - 1]], 0.1 * step, candidates(step) if step < 3 else None)
        for step in (1, 2, 3)
    ]
    state, infos = mdp.learn(mdp.init(), episode)
    assert [info.weight for info in infos if info] == learned(driver).weights
    wait_until(lambda: bool(driver.log("plan")))
    assert driver.peek()[1] != codec.encode(state)  # a plan was adopted since
    assert kinds(driver) == ["episode", "step", "step", "step", "reward", "reward", "reward", "learned"]


def test_a_step_may_bring_the_reward_of_the_one_before(driver: SessionDriver) -> None:
    driver.begin("e")
    driver.step("e", 0)
    answer = driver.step("e", 1, reward=0.2)
    assert (answer.step, answer.position) == (2, 4)
    assert kinds(driver) == ["episode", "step", "reward", "step"]
    assert driver.tell("e", 1, 0.2).outcome == "duplicate"
    driver.tell("e", 2, 0.1)
    assert driver.step("e", 2, reward=0.1).step == 3  # known already, and the same
    with pytest.raises(Conflict):
        driver.tell("e", 2, 0.3)


def test_another_reward_for_the_step_before_refuses_the_step(driver: SessionDriver) -> None:
    driver.begin("e")
    driver.step("e", 0)
    driver.tell("e", 1, 0.2)
    before = driver.peek()
    with pytest.raises(Conflict):
        driver.step("e", 1, reward=0.3)
    assert driver.peek() == before
    driver.begin("f")
    with pytest.raises(InvalidInput):
        driver.step("f", 0, reward=0.1)
    driver.step("f", 0)
    with pytest.raises(InvalidInput) as refused:
        driver.step("f", 1, reward=1.5)
    assert refused.value.pointer == "/reward"
    assert len(driver.log("step")) == 2


def test_rewards_come_in_any_order_and_once(driver: SessionDriver) -> None:
    driver.begin("e")
    for state in range(3):
        driver.step("e", state)
    assert [driver.tell("e", step, 0.1).outcome for step in (3, 1, 2)] == ["pending", "pending", "learned"]
    again = driver.tell("e", 3, 0.1)
    assert (again.outcome, again.weight) == ("duplicate", learned(driver).weights[2])
    with pytest.raises(Conflict):
        driver.tell("e", 3, 0.2)
    assert len(driver.log("reward")) == 3


def test_a_repeated_step_gets_its_first_answer_and_another_content_is_a_conflict(driver: SessionDriver) -> None:
    driver.begin("e")
    first = driver.step("e", 4, step=1)
    driver.step("e", 5, step=2)
    again = driver.step("e", 4, step=1)
    assert (again.step, again.position) == (first.step, first.position)
    for mine, theirs in zip(again.decision, first.decision, strict=True):
        assert np.array_equal(mine, theirs)
    with pytest.raises(Conflict):
        driver.step("e", 3, step=1)
    with pytest.raises(Conflict):
        driver.step("e", 3, step=4)
    assert len(driver.log("step")) == 2


def test_a_step_that_brought_a_reward_is_repeated_with_the_lot_that_was_drawn(database: Database, clock: Clock) -> None:
    with playing(database, clock) as driver:
        driver.create(exploration_floor=1.0)
        for number in range(10):
            driver.begin(f"e{number}")
            driver.step(f"e{number}", 2)
            first = driver.step(f"e{number}", 5, reward=0.1, step=2)
            assert driver.step(f"e{number}", 5, reward=0.1, step=2).decision.chosen == first.decision.chosen


def test_there_are_no_more_steps_than_the_episode_is_long(driver: SessionDriver) -> None:
    driver.begin("e")
    for state in range(3):
        driver.step("e", state)
    with pytest.raises(Conflict):
        driver.step("e", 3)
    with pytest.raises(Conflict):
        driver.step("e", 3, step=4)
    assert driver.step("e", 2, step=3).step == 3


def test_unknown_episodes_and_steps_are_not_found(driver: SessionDriver) -> None:
    for say in (
        lambda: driver.step("e"),
        lambda: driver.tell("e", 1, 0.1),
        lambda: driver.finish("e"),
    ):
        with pytest.raises(NotFound):
            say()
    driver.begin("e")
    with pytest.raises(NotFound):
        driver.tell("e", 1, 0.1)


def test_the_same_episode_again_is_the_same_episode(driver: SessionDriver) -> None:
    assert driver.begin("e") == driver.begin("e")
    assert len(driver.log("episode")) == 1


def test_an_early_finish_means_that_nothing_is_earned_after(driver: SessionDriver, database: Database) -> None:
    driver.begin("e")
    chosen = [driver.step("e", 0).decision.chosen, driver.step("e", 1, reward=0.2).decision.chosen]
    assert driver.finish("e").outcome == "pending"
    assert driver.finish("e").outcome == "pending"  # again, nothing happens
    with pytest.raises(Conflict):
        driver.step("e", 2)
    assert driver.tell("e", 2, 0.5).outcome == "learned"
    assert driver.finish("e").outcome == "learned"
    record = learned(driver)
    assert (record.reason, record.steps, record.rewards, record.ended) == ("finished", [1, 2], [0.2, 0.5], True)
    mdp = learner_of()
    _, infos = mdp.learn(
        mdp.init(),
        [
            Transition(1, candidates(0)[chosen[0]], 0.2, candidates(1)),
            Transition(2, candidates(1)[chosen[1]], 0.5, None, True),
        ],
    )
    assert [info.weight for info in infos if info] == record.weights
    assert open_episodes(database) == 0


def test_a_finish_with_all_rewards_there_learns_at_once_and_an_empty_one_learns_nothing(driver: SessionDriver) -> None:
    driver.begin("e")
    driver.step("e", 0)
    driver.tell("e", 1, 0.2)
    assert driver.finish("e").outcome == "learned"
    before = driver.quiet()[1]
    driver.begin("empty")
    assert driver.finish("empty").outcome == "ignored"
    assert driver.peek()[1] == before


def test_costs_are_mapped_onto_the_unit_range_and_an_early_finish_saves_the_rest(
    database: Database, clock: Clock
) -> None:
    with playing(database, clock) as driver:
        driver.create(reward={"min": -3.0, "max": 0.0})
        driver.begin("e")
        driver.step("e", 0)
        driver.tell("e", 1, -1.0)
        driver.finish("e")
        assert learned(driver).rewards == [pytest.approx(2 / 3)]  # a sum of −1 of −3 … 0


def test_the_rewards_of_an_episode_add_up_to_its_maximum_at_most(driver: SessionDriver) -> None:
    driver.begin("e")
    for state in range(3):
        driver.step("e", state)
    driver.tell("e", 2, 0.7)
    with pytest.raises(InvalidInput):
        driver.tell("e", 1, 0.4)
    with pytest.raises(InvalidInput):
        driver.tell("e", 1, -0.1)
    driver.tell("e", 1, 0.3)
    assert driver.tell("e", 3, 0.0).outcome == "learned"


def test_an_abandoned_episode_is_learned_as_far_as_it_is_known(driver: SessionDriver, clock: Clock) -> None:
    driver.begin("e")
    driver.step("e", 0)
    driver.step("e", 1)
    driver.tell("e", 1, 0.2)
    driver.tell("e", 2, 0.3)  # but nobody knows what followed
    clock.pass_s(WAIT_S + 1)
    late = driver.tell("e", 2, 0.3)
    assert late.outcome == "duplicate"
    wait_until(lambda: bool(driver.log("learned")))
    record = learned(driver)
    assert (record.reason, record.steps, record.rewards, record.ended) == ("timeout", [1], [0.2], False)
    with pytest.raises(Conflict):
        driver.step("e", 2)
    with pytest.raises(Conflict):
        driver.finish("e")


def test_nothing_is_learned_for_a_step_without_reward_and_a_late_one_is_kept(
    driver: SessionDriver, clock: Clock, database: Database
) -> None:
    driver.begin("e")
    for state in range(3):
        driver.step("e", state)
    driver.tell("e", 2, 0.3)
    clock.pass_s(WAIT_S + 1)
    assert driver.tell("e", 1, 0.1).outcome == "late"
    assert learned(driver).steps == [2]
    assert kinds(driver)[-2:] == ["learned", "reward"]
    assert driver.tell("e", 3, 0.1).outcome == "late"
    assert driver.tell("e", 3, 0.1).outcome == "duplicate"
    tally = driver.peek()[2]
    assert (tally.learned, tally.late, tally.left_out, tally.timed_out) == (1, 2, 2, 1)
    assert open_episodes(database) == 0


def test_the_sweep_closes_what_nobody_asks_about(driver: SessionDriver, clock: Clock, database: Database) -> None:
    for number in range(45):
        driver.begin(f"e{number}")
        driver.step(f"e{number}", 0)
    clock.pass_s(WAIT_S + 1)
    wait_until(lambda: open_episodes(database) == 0)
    assert driver.peek()[2].timed_out == 45


def test_what_comes_in_one_batch_sees_what_came_before_it(driver: SessionDriver) -> None:
    jobs = [Begin("home", "e", True), Begin("home", "e", True)]
    jobs += [Step("home", driver.question("e", state, step=state + 1)) for state in (0, 0, 1, 2, 3)]
    jobs += [RewardStep("home", "e", step, 0.1, None) for step in (1, 1, 2, 3)]
    answers = [driver.host.submit(job) for job in jobs]
    wait(answers, 10)
    refused = [answer.exception() for answer in answers]
    assert [type(problem) for problem in refused if problem] == [Conflict]
    assert refused[6] is not None
    said = [answer.result().outcome for answer in answers[7:]]
    assert said == ["pending", "duplicate", "pending", "learned"]
    assert kinds(driver) == ["episode", "step", "step", "step", "reward", "reward", "reward", "learned"]


def test_a_frozen_learner_decides_and_learns_nothing(driver: SessionDriver, database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE learners SET mode = 'frozen'"))
    before = driver.peek()[1]
    driver.begin("e")
    for state in range(3):
        driver.step("e", state)
    assert {driver.tell("e", step, 0.1).outcome for step in (1, 2, 3)} == {"ignored"}
    assert learned(driver).steps == []
    assert driver.peek()[1] == before


def test_a_shadow_answers_the_first_action_and_learns_from_it(driver: SessionDriver, database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE learners SET mode = 'shadow'"))
    driver.begin("e")
    assert [driver.step("e", state, step=state + 1).decision.chosen for state in range(3)] == [0, 0, 0]
    assert driver.step("e", 0, step=1).decision.probability.tolist() == [1.0, 0.0]
    assert [driver.tell("e", step, 0.1).outcome for step in (1, 2, 3)][-1] == "learned"


def test_a_paused_learner_takes_nothing_and_closes_nothing(
    driver: SessionDriver, database: Database, clock: Clock
) -> None:
    driver.begin("e")
    with database.write() as connection:
        connection.execute(text("UPDATE learners SET paused = true"))
    for say in (lambda: driver.begin("f"), lambda: driver.step("e"), lambda: driver.finish("e")):
        with pytest.raises(Conflict):
            say()
    clock.pass_s(WAIT_S + 1)
    assert open_episodes(database) == 1


def test_a_learner_of_one_kind_refuses_what_is_for_the_other(driver: SessionDriver, database: Database) -> None:
    plain = Driver(database, driver.clock)
    plain.create("plain")
    try:
        with pytest.raises(Conflict, match="kind mdp"):
            plain.host.submit(Decide("home", plain.ask("d"))).result(10)
        with pytest.raises(Conflict, match="kind bandit"):
            plain.host.submit(Begin("plain", "e", True)).result(10)
    finally:
        plain.stop()
