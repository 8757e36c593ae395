"""Plans and longer horizons are made aside, take effect at a position of the log, and replay to the same bytes."""

import threading
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text

from holdfast.hosting.blueprint import canonical, draw_sessions
from holdfast.hosting.bring import Import
from holdfast.hosting.live import Errand, LiveLearner
from holdfast.hosting.look import Look
from holdfast.hosting.operation import OneByOne
from holdfast.hosting.recover import revive
from holdfast.hosting.sessions import aside, folding
from holdfast.hosting.sessions.aside import Adopt, Extend
from holdfast.hosting.sessions.close import Finish
from holdfast.hosting.sessions.live import LiveSessions
from holdfast.hosting.sessions.records import HorizonRecord, unpack
from holdfast.hosting.sessions.reward import RewardStep
from holdfast.learners import codec
from holdfast.learners.mdp import Plan, replan, snapshot
from holdfast.store import learners, snapshots
from holdfast.store.audit import Actor
from holdfast.store.database import Database
from holdfast.store.log import Transaction
from tests.hosting.harness import Clock
from tests.hosting.harness import spec as bandit_spec
from tests.hosting.sessions.harness import SessionDriver, playing, spec, wait_until

PLAYED = 40


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(database: Database, clock: Clock) -> Iterator[SessionDriver]:
    with playing(database, clock) as driver:
        yield driver


class Snapshot(OneByOne):
    """A copy of the live state, from its own thread."""

    learner = "home"

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> tuple[int, object, object]:
        return live.id, live.mdp, snapshot(live.state)


class Due(OneByOne):
    """The errand that is due, from the thread of the learner, and the plan that it should make."""

    learner = "home"

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> tuple[Errand | None, Plan]:
        return _errand(live), replan(live.mdp, live.state)


_errand = aside.errand


def from_the_log_alone(database: Database) -> tuple[int, bytes, object]:
    return revived_after("DELETE FROM snapshots", database)


def revived_after(change: str, database: Database) -> tuple[int, bytes, object]:
    with database.write() as connection:
        connection.execute(text(change))
    with database.read() as connection:
        row = learners.find(connection, "home")
        assert row is not None
        live = revive(connection, row, lambda event, **facts: None)
        return live.position, codec.encode(live.state), live.tally


@pytest.mark.parametrize("function", [{"kind": "linear"}, {"kind": "fourier", "frequencies": 8}, {"kind": "kernel"}])
@pytest.mark.parametrize("stationary", [False, True])
def test_a_log_with_plans_folds_to_the_same_bytes(
    driver: SessionDriver, database: Database, function: dict[str, str], stationary: bool
) -> None:
    driver.create(function=function, stationary=stationary)
    for number in range(PLAYED):
        driver.play(number)
    position, state, tally = driver.quiet()
    assert len(driver.log("plan")) >= 3
    assert from_the_log_alone(database) == (position, state, tally)


def test_a_fresh_learner_needs_no_plan(driver: SessionDriver) -> None:
    driver.create()
    driver.begin("e")
    assert not driver.host.submit(Look("home")).result(10).numbers["plans"]["is_due"]
    driver.quiet()
    assert driver.log("plan") == []


def test_a_plan_adopted_late_is_replayed_at_its_position(driver: SessionDriver, database: Database) -> None:
    """It was made from an earlier state, and episodes were learned while it was made."""
    driver.create()
    for number in range(5):
        driver.play(number)
    driver.quiet()
    learner_id, mdp, copy = driver.host.submit(Snapshot()).result(10)
    plan = replan(mdp, copy)
    for number in range(5, 8):
        driver.begin(f"late-{number}")
        driver.step(f"late-{number}", number)
        driver.tell(f"late-{number}", 1, 0.1)
        driver.finish(f"late-{number}")
    adopted = driver.host.submit(Adopt("home", learner_id, plan, copy.plans, mdp.horizon)).result(10)
    driver.play(9)
    position, state, tally = driver.quiet()
    assert from_the_log_alone(database) == (position, state, tally)
    if adopted:  # unless a plan of the learner's own was faster
        assert plan.episodes < 8


def test_a_plan_is_made_from_what_was_known_when_it_was_due(
    driver: SessionDriver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is learned while it is made."""
    monkeypatch.setattr(aside, "errand", lambda live: None)
    driver.create()
    for number in range(5):
        driver.play(number)
    errand, expected = driver.host.submit(Due()).result(10)
    driver.play(5)
    asked: list[Adopt] = []
    errand(database, asked.append)
    assert codec.encode(asked[0].plan) == codec.encode(expected)


def test_a_plan_is_dropped_when_another_was_adopted_or_the_learner_is_another(driver: SessionDriver) -> None:
    driver.create()
    for number in range(5):
        driver.play(number)
    driver.quiet()
    learner_id, mdp, copy = driver.host.submit(Snapshot()).result(10)
    plan, before = replan(mdp, copy), driver.peek()
    for stale in (
        Adopt("home", learner_id, plan, copy.plans - 1, mdp.horizon),
        Adopt("home", learner_id + 1, plan, copy.plans, mdp.horizon),
        Adopt("home", learner_id, plan, copy.plans, mdp.horizon + 1),
    ):
        assert driver.host.submit(stale).result(10) is False
    assert driver.peek() == before


@pytest.mark.parametrize("stationary", [False, True])
def test_a_horizon_that_is_reached_doubles_and_everything_is_folded_anew(
    driver: SessionDriver, database: Database, stationary: bool
) -> None:
    driver.create(horizon=16, corruption={"budget": "auto"}, stationary=stationary)
    alpha = driver.host.submit(Look("home")).result(10).numbers["alpha"]
    for number in range(PLAYED):
        driver.play(number)
    position, state, tally = driver.quiet()
    extended = [unpack(event.payload, HorizonRecord).horizon for event in driver.log("horizon")]
    assert extended == [32, 64]
    numbers = driver.host.submit(Look("home")).result(10).numbers
    assert numbers["horizon"] == tally.horizon == 64
    assert numbers["alpha"] < alpha
    assert from_the_log_alone(database) == (position, state, tally)


def test_a_damaged_snapshot_of_a_longer_horizon_is_not_used_for_it_either(
    driver: SessionDriver, database: Database
) -> None:
    driver.create(horizon=8, corruption={"budget": "auto"})
    for number in range(10):
        driver.play(number)
    expected = driver.quiet()
    (extended,) = driver.log("horizon")
    with database.read() as connection:
        assert extended.position in [snapshot.position for snapshot in snapshots.newest(connection, 1)]
    assert revived_after("UPDATE snapshots SET tally = '{'", database) == expected


def test_a_change_of_the_description_leaves_the_horizon_that_was_reached(
    driver: SessionDriver, database: Database
) -> None:
    described = {"horizon": 8, "corruption": {"budget": "auto"}}
    driver.create(**described)
    for number in range(10):
        driver.play(number)
    driver.quiet()
    with database.write() as connection:
        changed = canonical(spec(**described, reward={"default": 0.1}))
        connection.execute(text("UPDATE learners SET spec = :spec"), {"spec": changed})
    driver.play(10)
    position, state, tally = driver.quiet()
    assert len(driver.log("horizon")) == 1  # and it is not reached again
    assert from_the_log_alone(database) == (position, state, tally)


@pytest.mark.parametrize("change", ["mode = 'frozen'", "paused = true"])
def test_nothing_is_planned_for_a_learner_that_is_frozen_or_paused(
    driver: SessionDriver, database: Database, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(aside, "errand", lambda live: None)
    driver.create()
    driver.play(0)
    assert driver.host.submit(Due()).result(10)[0] is not None
    with database.write() as connection:
        connection.execute(text(f"UPDATE learners SET {change}"))
    assert driver.host.submit(Due()).result(10)[0] is None


def test_a_longer_horizon_takes_in_what_was_learned_meanwhile(
    driver: SessionDriver, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of it in the very batch that extends the horizon."""
    monkeypatch.setattr(aside, "errand", lambda live: None)
    driver.create(horizon=8, corruption={"budget": "auto"})
    for number in range(10):
        driver.play(number)
    learner_id, mdp, _ = driver.host.submit(Snapshot()).result(10)
    longer = draw_sessions(spec(horizon=8, corruption={"budget": "auto"})).at(16)
    with database.read() as connection:
        folded = folding.fold(connection, learner_id, longer, folding.nothing(longer), 20, with_plans=True)
    driver.play(10)
    driver.begin("same-batch")
    driver.step("same-batch", 1)
    jobs = [
        RewardStep("home", "same-batch", 1, 0.2, None),
        Finish("home", "same-batch", None),
        Extend("home", learner_id, mdp.horizon, 16, folded),
        Extend("home", learner_id, mdp.horizon, 16, folded),  # too late: it is extended
    ]
    held = [driver.host.submit(job) for job in jobs]
    assert [one.result(10) for one in held][2:] == [0, 0]
    assert len(driver.log("horizon")) == 1
    position, state, tally = driver.peek()
    assert from_the_log_alone(database) == (position, state, tally)


def test_a_longer_horizon_that_lags_too_far_behind_is_asked_to_catch_up_first(
    driver: SessionDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "CATCH_UP_MAX", 10)
    driver.create(horizon=8, corruption={"budget": "auto"})
    for number in range(20):
        driver.play(number)
    driver.quiet()
    assert [unpack(event.payload, HorizonRecord).horizon for event in driver.log("horizon")] == [16, 32]


def test_no_request_waits_for_a_longer_horizon_that_lags_too_far_behind(
    driver: SessionDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "errand", lambda live: None)
    monkeypatch.setattr(aside, "CATCH_UP_MAX", 10)
    driver.create(horizon=8)
    for number in range(2):
        driver.play(number)
    learner_id, mdp, _ = driver.host.submit(Snapshot()).result(10)
    behind = Extend("home", learner_id, mdp.horizon, 16, folding.nothing(mdp))
    assert driver.host.submit(behind).result(10) == driver.peek()[0] > 10
    assert driver.log("horizon") == []


def test_two_hosts_agree_on_plans_and_horizons(database: Database, clock: Clock) -> None:
    with playing(database, clock) as one, playing(database, clock) as two:
        one.create(horizon=16, corruption={"budget": "auto"})
        for number in range(24):
            (one if number % 2 else two).play(number)
        one.quiet()
        two.quiet()
        assert one.peek() == two.peek()
        assert len(one.log("horizon")) == 1
        state, tally = one.peek()[1:]
    assert from_the_log_alone(database)[1:] == (state, tally)


def test_an_errand_that_fails_is_warned_of_and_the_learner_goes_on(
    driver: SessionDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(live: LiveLearner) -> object:
        def fails(database: Database, ask: object) -> None:
            raise ValueError("broken")

        return fails

    monkeypatch.setattr(aside, "errand", broken)
    driver.create()
    driver.play(1)
    wait_until(lambda: any("errand failed" in warning for warning in driver.warnings))
    driver.play(2)
    assert driver.peek()[2].learned == 6


@pytest.mark.parametrize("successor", [None, "bandit"])
def test_a_plan_for_a_learner_that_was_deleted_meanwhile_is_nobodys_problem(
    driver: SessionDriver, database: Database, monkeypatch: pytest.MonkeyPatch, successor: str | None
) -> None:
    is_played, is_done = threading.Event(), threading.Event()

    def of_one_that_is_deleted(live: LiveSessions) -> Errand | None:
        errand = _errand(live)

        def plan(database: Database, ask: Callable[[object], object]) -> None:
            is_played.wait(10)
            with database.write() as connection:
                learners.remove(connection, live.id)
                if successor is not None:
                    learners.create(connection, "home", canonical(bandit_spec()), 0)
            assert errand is not None
            try:
                errand(database, ask)
            finally:
                is_done.set()

        return errand and plan

    monkeypatch.setattr(aside, "errand", of_one_that_is_deleted)
    driver.create()
    driver.play(1)
    is_played.set()
    assert is_done.wait(10)
    monkeypatch.undo()
    if successor is not None:
        driver.recreate()
    else:
        driver.create()
    driver.play(2)
    wait_until(lambda: driver.host.submit(Look("home")).result(10).numbers["plans"]["adopted"] > 0)
    assert driver.warnings == []


def test_a_state_can_be_brought_and_extended(driver: SessionDriver, database: Database) -> None:
    driver.create()
    for number in range(12):
        driver.play(number)
    state = driver.quiet()[1]
    with database.write() as connection:
        learners.remove(connection, 1)
    driver.create(horizon=8, corruption={"budget": "auto"})
    driver.host.submit(Import("home", state, Actor("admin"))).result(10)
    wait_until(lambda: driver.host.submit(Look("home")).result(10).numbers["horizon"] == 16)
    assert driver.quiet()[0] >= 2
    assert driver.host.submit(Look("home")).result(10).numbers["rounds"] == 12
    position, state, tally = driver.peek()
    assert from_the_log_alone(database) == (position, state, tally)
