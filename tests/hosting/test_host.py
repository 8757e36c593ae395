"""Decide, reward, restart: on SQLite and on PostgreSQL."""

from concurrent.futures import Future, wait

import pytest
from sqlalchemy import text

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.hosting import host
from holdfast.hosting.decide import Decide, joined
from holdfast.hosting.learn import Claim, Reward, Verdict
from holdfast.hosting.mailbox import Job
from holdfast.hosting.tell import tell
from holdfast.store import snapshots
from holdfast.store.bulk import Locked
from holdfast.store.database import Database
from holdfast.store.log import Transaction, events_after
from tests.hosting.harness import WITHIN_S, Clock, Driver, driving


def _log(database: Database) -> list[tuple[int, str]]:
    with database.read() as connection:
        return [(event.position, event.kind) for event in events_after(connection, 1, 0)]


def test_decisions_and_rewards_are_logged_in_order_and_learned(driver: Driver, database: Database) -> None:
    first = driver.decide("one")
    second = driver.decide("two", seed=1)
    verdict = driver.reward("one", 0.7)
    assert (first.position, second.position, verdict.position) == (1, 2, 3)
    assert verdict.outcome == "learned"
    assert verdict.weight is not None
    assert 0.0 < verdict.weight <= 1.0
    assert _log(database) == [(1, "decision"), (2, "decision"), (3, "reward")]


def test_the_same_decision_again_gets_the_first_answer(driver: Driver, database: Database) -> None:
    first = driver.decide("one", top=2)
    driver.reward("one", 1.0)
    again = driver.decide("one", top=2)
    assert again.position == first.position
    assert again.ranking == first.ranking
    assert len(_log(database)) == 2


def test_the_same_decision_id_with_another_content_is_a_conflict(driver: Driver) -> None:
    driver.decide("one", seed=1)
    with pytest.raises(Conflict):
        driver.decide("one", seed=2)


def test_a_repeated_reward_is_a_duplicate_and_another_value_a_conflict(driver: Driver) -> None:
    driver.decide("one")
    first = driver.reward("one", 0.7)
    again = driver.reward("one", 0.7)
    assert again == Verdict("one", "duplicate", first.weight, first.position)
    with pytest.raises(Conflict):
        driver.reward("one", 0.8)
    assert driver.peek()[2].learned == 1


def test_unknown_learners_and_decisions_are_not_found(driver: Driver) -> None:
    with pytest.raises(NotFound):
        driver.decide("one", learner="nobody")
    with pytest.raises(NotFound):
        driver.reward("nothing", 1.0)


def test_a_reward_out_of_range_is_refused_and_changes_nothing(driver: Driver) -> None:
    driver.decide("one")
    before = driver.peek()
    with pytest.raises(InvalidInput):
        driver.reward("one", 1.5)
    assert driver.peek() == before


def test_each_shown_action_can_be_rewarded_once(driver: Driver) -> None:
    answer = driver.decide("one", top=3)
    shown = [answer.ids[i] for i in answer.ranking.order[:3]]
    for action in shown:
        assert driver.reward("one", 0.5, action).outcome == "learned"
    assert driver.reward("one", 0.5, shown[2]).outcome == "duplicate"
    hidden = answer.ids[answer.ranking.order[3]]
    with pytest.raises(InvalidInput):
        driver.reward("one", 0.5, hidden)


def test_a_batch_of_rewards_is_learned_in_order_and_a_bad_one_stops_no_other(driver: Driver) -> None:
    for name in ("one", "two"):
        driver.decide(name)
    claims = [Claim("one", 0.2, None, None), Claim("none", 0.2, None, None), Claim("two", 0.9, None, "partner")]
    verdicts = driver.host.submit(Reward("home", claims)).result(10)
    assert [getattr(v, "outcome", type(v)) for v in verdicts] == ["learned", NotFound, "learned"]


def test_a_batch_of_decisions_is_all_or_nothing(driver: Driver, database: Database) -> None:
    driver.decide("taken", seed=1)
    questions = joined([driver.ask("new", seed=2), driver.ask("taken", seed=3)])
    with pytest.raises(Conflict) as refused:
        driver.host.submit(Decide("home", questions)).result(10)
    assert refused.value.pointer == "/decisions/1/decision_id"
    assert len(_log(database)) == 1


def test_many_at_once_all_find_their_place(driver: Driver, database: Database) -> None:
    decisions = [driver.host.submit(Decide("home", driver.ask(f"d{i}", seed=i))) for i in range(300)]
    wait(decisions, 30)
    rewards = [driver.host.submit(Reward("home", [Claim(f"d{i}", 0.5, None, None)])) for i in range(300)]
    wait(rewards, 30)
    positions = [f.result()[0].position for f in decisions + rewards]
    assert sorted(positions) == list(range(1, 601))
    assert driver.peek()[2].learned == 300


def test_after_a_restart_the_state_is_the_same_to_the_byte(driver: Driver, database: Database, clock: Clock) -> None:
    for i in range(30):
        driver.decide(f"d{i}", seed=i)
        if i % 3:
            driver.reward(f"d{i}", (i % 10) / 10)
    before = driver.peek()
    driver.stop()
    with driving(database, clock) as reborn:
        assert reborn.peek() == before
        assert reborn.reward("d0", 0.4).position == before[0] + 1


def test_silence_is_learned_as_the_default_when_the_wait_ends(driver: Driver, database: Database, clock: Clock) -> None:
    driver.decide("one")
    clock.pass_s(601)
    late = driver.reward("one", 1.0)
    assert late.outcome == "late"
    assert _log(database) == [(1, "decision"), (2, "expiry"), (3, "reward")]
    tally = driver.peek()[2]
    assert (tally.defaulted, tally.late, tally.learned) == (1, 1, 0)
    assert driver.reward("one", 1.0).outcome == "duplicate"


def test_without_a_default_silence_teaches_nothing(database: Database, clock: Clock) -> None:
    with driving(database, clock) as driver:
        driver.create(reward={"default": None})
        driver.decide("one")
        fresh = driver.peek()[1]
        clock.pass_s(601)
        driver.reward("one", 1.0)
        assert driver.peek()[1] == fresh


@pytest.mark.parametrize(("aggregation", "learned"), [("sum", 0.9), ("mean", 0.3), ("last_before_wait", 0.1)])
def test_several_rewards_become_one_when_the_wait_ends(
    database: Database, clock: Clock, aggregation: str, learned: float
) -> None:
    with driving(database, clock) as driver, driving(database, clock) as other:
        driver.create(reward={"aggregation": aggregation})
        driver.create("plain")
        driver.decide("one")
        for value in (0.3, 0.5, 0.1):
            assert driver.reward("one", value).outcome == "pending"
        clock.pass_s(601)
        driver.reward("one", 0.9)
        other.decide("one", learner="plain")
        other.reward("one", learned, learner="plain")
        assert driver.peek()[1] == other.peek("plain")[1]


def test_a_waiter_that_gave_up_does_not_stop_the_writer(driver: Driver) -> None:
    abandoned = [driver.host.submit(Decide("home", driver.ask(f"a{i}"))) for i in range(50)]
    for future in abandoned:
        future.cancel()
    assert driver.decide("next", seed=1).position >= 1
    assert driver.host.lives()


def test_two_hosts_on_one_database_learn_everything_once_and_agree(database: Database, clock: Clock) -> None:
    with driving(database, clock) as one, driving(database, clock) as two:
        one.create()
        for i in range(20):
            (one if i % 2 else two).decide(f"d{i}", seed=i)
        for i in range(20):
            (two if i % 2 else one).reward(f"d{i}", 0.5)
            assert (one if i % 2 else two).reward(f"d{i}", 0.5).outcome == "duplicate"
        assert one.peek() == two.peek()
        assert one.peek()[0] == 40


def test_hosts_that_believe_too_much_of_a_shared_learner_do_it_again_and_agree(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "LOOK_FIRST_S", 0.0)
    monkeypatch.setattr(host, "SHARED_S", 0.0)
    with driving(database, clock) as one, driving(database, clock) as two:
        one.create()
        for i in range(20):
            decided = (one if i % 2 else two).decide(f"d{i}", seed=i)
            assert decided.position == i + 1
        for i in range(20):
            (two if i % 2 else one).reward(f"d{i}", 0.5)
            assert (one if i % 2 else two).reward(f"d{i}", 0.5).outcome == "duplicate"
        one.change(mode="frozen")
        (last,) = one.host.submit(Decide("home", one.ask("last"))).result(10)
        assert two.reward("last", 0.5).outcome == "ignored"
        assert one.peek() == two.peek()
        assert one.peek()[0] == last.position + 1 == 42
        assert one.host.meter.commit_failures == two.host.meter.commit_failures == 0


def test_a_host_that_was_wrong_about_a_learner_looks_first_for_a_while(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "LOOK_FIRST_S", 0.0)
    beliefs: list[bool] = []
    lock = Transaction.lock

    def watched(self: Transaction, learner_id: int, believed: Locked | None = None) -> Locked | None:
        beliefs.append(believed is not None)
        return lock(self, learner_id, believed)

    monkeypatch.setattr(Transaction, "lock", watched)
    with driving(database, clock) as one, driving(database, clock) as two:
        one.create()
        one.decide("d1")
        one.decide("d2")
        assert beliefs == [True, True]
        two.decide("d3")
        beliefs.clear()
        one.decide("d4")  # SQLite looks anyway and sees; PostgreSQL says so with the commit
        one.decide("d5")
        assert beliefs in ([True, False], [True, False, False])


def test_learners_are_locked_in_the_order_of_their_ids_even_if_one_turns_out_to_be_a_new_one(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[int] = []
    lock = Transaction.lock

    def watched(self: Transaction, learner_id: int, believed: Locked | None = None) -> Locked | None:
        locked.append(learner_id)
        return lock(self, learner_id, believed)

    names = ["home", "second", "third"]
    for name in names[1:]:
        driver.create(name)
    for name in names:
        driver.decide("known", learner=name)
    driver.recreate("home")
    monkeypatch.setattr(Transaction, "lock", watched)
    jobs = [Job(Decide(name, driver.ask("one")), Future()) for name in names]
    driver.host.submit_all(jobs)
    assert [job.answer.result(WITHIN_S)[0].position for job in jobs] == [1, 2, 2]  # type: ignore[call-arg]
    assert locked == [1, 2, 3, 4]


def test_a_learner_that_was_replaced_does_not_cost_the_others_their_snapshots(
    driver: Driver, database: Database
) -> None:
    driver.create("other")
    driver.decide("one")
    driver.decide("two", learner="other")
    driver.recreate()
    driver.stop()
    with database.read() as connection:
        assert [snapshot.position for snapshot in snapshots.newest(connection, 2)] == [1]


def test_each_reward_of_a_sum_is_told_with_the_id_of_its_decision(driver: Driver, database: Database) -> None:
    driver.recreate(reward={"aggregation": "sum"})
    driver.decide("a/2")
    driver.reward("a/2", 0.2)
    driver.reward("a/2", 0.3)
    with database.read() as connection:
        assert [tell(event)["decision_id"] for event in events_after(connection, 2, 0)] == ["a/2"] * 3


def test_two_processes_that_stop_at_one_position_save_it_once(database: Database, clock: Clock) -> None:
    with driving(database, clock) as one, driving(database, clock) as other:
        one.create()
        one.decide("d1")
        assert other.peek()[0] == 1
        with database.write() as connection:
            connection.execute(text("UPDATE learners SET head = head"))
            one.host.stop(0)
            other.host.stop(0)
    with database.read() as connection:
        assert [snapshot.position for snapshot in snapshots.newest(connection, 1)] == [1]


def test_what_was_learned_is_not_learned_again_when_the_wait_ends(driver: Driver, clock: Clock) -> None:
    driver.decide("one", top=2)
    driver.reward("one", 1.0)
    clock.pass_s(601)
    assert driver.reward("one", 0.5, action=_second_shown(driver)).outcome == "late"
    tally = driver.peek()[2]
    assert (tally.learned, tally.defaulted, sum(tally.weights)) == (1, 1, 2)


def _second_shown(driver: Driver) -> str:
    answered = driver.decide("one", top=2)
    return next(answered.ids[i] for i in answered.ranking.order if i != answered.ranking.chosen)


def test_a_frozen_learner_learns_neither_a_reward_nor_silence_and_a_paused_one_refuses(
    driver: Driver, clock: Clock
) -> None:
    driver.decide("one")
    driver.decide("two")
    driver.change(mode="frozen")
    before = driver.peek()[1]
    assert driver.reward("one", 1.0).outcome == "ignored"
    clock.pass_s(601)
    assert driver.reward("two", 1.0).outcome == "ignored"
    assert driver.peek()[1] == before
    driver.change(paused=True)
    with pytest.raises(Conflict):
        driver.decide("three")
    with pytest.raises(Conflict):
        driver.reward("one", 1.0)
