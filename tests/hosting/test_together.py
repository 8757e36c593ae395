"""Operations that share a batch see each other's effects in the order in which they came."""

from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from holdfast.errors import Conflict, Unavailable
from holdfast.hosting.blueprint import draw
from holdfast.hosting.bring import Observation, Observe
from holdfast.hosting.decide import MANY, Answered, Decide, Questions, joined
from holdfast.hosting.ids import new_id, new_ids
from holdfast.hosting.learn import Claim, Reward, Verdict
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.mailbox import WAITING_MAX, Job
from holdfast.hosting.once import Once, Rendered
from holdfast.hosting.operation import Needs, Operation, runs_of_strangers
from holdfast.hosting.records import shown_features, unpack_decision
from holdfast.store import learners
from holdfast.store.database import Database
from holdfast.store.log import due, events_after
from holdfast.store.sqlite import ROWS_AT_ONCE
from tests.hosting.harness import Clock, Driver, Peek, driving, spec


def together(driver: Driver, *operations: Operation) -> list[Any]:
    """Answers or problems of operations that go over in one piece."""
    jobs = [Job(operation, Future()) for operation in operations]
    driver.host.submit_all(jobs)
    answers = [job.answer for job in jobs]
    assert all(isinstance(answer, Future) for answer in answers)
    return [answer.exception(10) or answer.result() for answer in answers if isinstance(answer, Future)]


def keyed(operation: Operation, key: str, body: bytes = b"body") -> Once:
    return Once(operation, "/path", key, body, lambda answer: Rendered(201, repr(answer[0].position).encode()))


def test_the_same_decision_twice_in_one_batch_is_made_once(driver: Driver, database: Database) -> None:
    one = Decide("home", driver.ask("d1"))
    (first,), (again,) = together(driver, one, one)
    assert again.position == first.position == 1
    assert driver.host.meter.commit_failures == 0
    with database.read() as connection:
        assert len(events_after(connection, 1, 0)) == 1


def test_the_same_decision_twice_in_one_operation_is_made_once(driver: Driver) -> None:
    ((first, again),) = together(driver, Decide("home", joined([driver.ask("d1"), driver.ask("d1")])))
    assert again.position == first.position == 1


def test_one_id_with_two_contents_in_one_operation_is_a_conflict_and_decides_nothing(driver: Driver) -> None:
    (problem,) = together(driver, Decide("home", joined([driver.ask("d1"), driver.ask("d1", seed=1)])))
    assert isinstance(problem, Conflict)
    assert driver.peek()[0] == 0


def test_a_refused_neighbour_costs_the_others_nothing(driver: Driver) -> None:
    driver.decide("d1")
    refused = Decide("home", joined([driver.ask("d2"), driver.ask("d1", seed=1)]))
    before, problem, after = together(
        driver, Decide("home", driver.ask("d3")), refused, Decide("home", driver.ask("d4"))
    )
    assert isinstance(problem, Conflict)
    assert (before[0].position, after[0].position) == (2, 3)


def test_a_reward_in_the_same_batch_as_its_decision_is_learned_and_never_expires(
    driver: Driver, database: Database
) -> None:
    _, (verdict,) = together(driver, Decide("home", driver.ask("d1")), Reward("home", [Claim("d1", 1.0, None, None)]))
    assert isinstance(verdict, Verdict)
    assert (verdict.outcome, verdict.position) == ("learned", 2)
    with database.read() as connection:
        assert due(connection, 1, 2**60) == []


def test_a_key_used_twice_in_one_batch_is_answered_once(driver: Driver) -> None:
    first, again, other = together(
        driver,
        keyed(Decide("home", driver.ask(new_id(), given=False)), "k1"),
        keyed(Decide("home", driver.ask(new_id(), given=False)), "k1"),
        keyed(Decide("home", driver.ask(new_id(), given=False)), "k1", b"another body"),
    )
    assert first == again == Rendered(201, b"1")
    assert isinstance(other, Conflict)
    assert driver.peek()[0] == 1


def test_a_key_outlasts_the_host(driver: Driver, database: Database) -> None:
    (first,) = together(driver, keyed(Decide("home", driver.ask("d1")), "k1"))
    driver.stop()
    with driving(database, Clock()) as later:
        (again,) = together(later, keyed(Decide("home", later.ask("d1")), "k1"))
    assert again == first


def test_a_key_means_nothing_to_a_new_learner_of_the_same_name(driver: Driver) -> None:
    one = keyed(Decide("home", driver.ask("d1")), "k1")
    together(driver, one)
    driver.recreate()
    assert together(driver, one) == [Rendered(201, b"1")]
    assert driver.peek()[0] == 1


def test_many_decisions_in_one_batch_rank_as_they_would_alone(driver: Driver) -> None:
    for i in range(40):
        driver.decide(f"w{i}", seed=i)
        driver.reward(f"w{i}", (i % 7) / 7)
    answers = together(driver, *(Decide("home", driver.ask(f"d{i}", seed=i, top=1 + i % 2)) for i in range(20)))
    for i, (answered,) in enumerate(answers):
        alone = driver.decide(f"alone{i}", seed=i, top=1 + i % 2)
        assert answered.ranking.order == alone.ranking.order


def test_of_questions_with_repeats_among_them_only_the_new_are_decided_each_on_its_own_actions(
    driver: Driver, database: Database
) -> None:
    def asked(number: int) -> Questions:
        """With as many actions as its number."""
        phi = np.random.default_rng(number).uniform(0.1, 0.5, size=(number, 3))
        ids = [f"{number}.{i}" for i in range(number)]
        return Questions([f"q{number}"], [ids], phi, [min(2, number)], [bytes([number])])

    driver.host.submit(Decide("home", asked(3))).result(10)
    together(driver, Decide("home", joined([asked(n) for n in (1, 3, 4, 2, 3, 4)])))
    with database.read() as connection:
        events = events_after(connection, 1, 0)
    assert [event.event_id for event in events] == ["d/q3", "d/q1", "d/q4", "d/q2"]
    for event, number in zip(events, (3, 1, 4, 2), strict=True):
        record = unpack_decision(event.payload)
        assert record.ids == asked(number).ids[0]
        assert shown_features(record).tolist() == asked(number).phi[record.shown].tolist()


def test_large_and_small_questions_that_share_a_transaction_are_decided_in_the_order_in_which_they_came(
    driver: Driver, database: Database
) -> None:
    names = [["a"], *([f"{x}{i}" for i in range(MANY)] for x in "bc"), ["d"], ["e"], [f"f{i}" for i in range(MANY + 1)]]
    asked = [joined([driver.ask(name, seed=len(name), top=1 + len(name)) for name in some]) for some in names]
    answers = together(driver, *(Decide("home", some) for some in asked))
    told = [answered for some in answers for answered in some]
    assert [isinstance(some, list) for some in answers] == [len(some) < MANY for some in names]
    assert [answered.decision_id for answered in told] == [name for some in names for name in some]
    assert [answered.position for answered in told] == list(range(1, len(told) + 1))
    with database.read() as connection:
        assert [e.event_id for e in events_after(connection, 1, 0)] == [f"d/{a.decision_id}" for a in told]
    again = together(driver, *(Decide("home", some) for some in asked))
    assert [answered for some in again for answered in some] == told  # as the log has them


def test_runs_are_cut_where_a_name_comes_back() -> None:
    runs = runs_of_strangers(["ab", "c", "bd", "e", "e"], list)
    assert list(runs) == [["ab", "c"], ["bd", "e"], ["e"]]


def test_ids_grow_with_time_and_do_not_repeat() -> None:
    ids = [new_id(), *new_ids(998), new_id()]
    assert len(set(ids)) == 1_000
    assert [name[:12] for name in ids] == sorted(name[:12] for name in ids)
    assert all(len(name) == 32 and name[12] == "7" and name[16] in "89ab" for name in ids)


class Away(Peek):
    """An operation that finds the database gone."""

    def needs(self, live: LiveLearner) -> Needs:
        raise Unavailable("away")


def test_what_a_lost_batch_would_have_taught_is_not_known_when_another_process_has_gone_on(
    driver: Driver, database: Database
) -> None:
    driver.create("later")
    driver.decide("d1")
    driver.decide("d2")
    lost = together(driver, Reward("home", [Claim("d1", 1.0, None, None)]), Away("later"))
    assert [type(problem) for problem in lost] == [Unavailable, Unavailable]
    with driving(database, driver.clock) as other:
        other.reward("d2", 0.0)
        assert driver.peek()[:2] == other.peek()[:2]
    assert driver.reward("d1", 0.5).outcome == "learned"


class Broken(Away):
    """An operation with a mistake in it."""

    def needs(self, live: LiveLearner) -> Needs:
        raise ZeroDivisionError


def test_a_broken_neighbour_fails_alone(driver: Driver) -> None:
    driver.decide("d1")
    (verdict,), problem, (answered,) = together(
        driver, Reward("home", [Claim("d1", 1.0, None, None)]), Broken("home"), Decide("home", driver.ask("d2"))
    )
    assert (verdict.outcome, type(problem), answered.position) == ("learned", ZeroDivisionError, 3)


def test_what_the_database_cannot_keep_fails_alone(driver: Driver) -> None:
    strange = Observe("home", [Observation(driver.ask("x").phi[0], "a0", 1.0, None, "a\0")])  # which SQLite can keep
    _, (answered,) = together(driver, strange, Decide("home", driver.ask("d1")))
    assert isinstance(answered, Answered)
    assert driver.decide("d1") is not None


def test_operations_of_several_kinds_are_performed_in_the_order_in_which_they_came(driver: Driver) -> None:
    driver.decide("d1")
    rewards = [Reward("home", [Claim(name, 1.0, None, None)]) for name in ("d1", "d2")]
    decide = Decide("home", driver.ask("d2"))
    (first,), (answered,), (last,) = together(driver, rewards[0], decide, rewards[1])
    assert (first.position, answered.position, last.position) == (2, 3, 4)


def test_more_than_the_queue_holds_is_refused_and_none_of_it_waits(driver: Driver) -> None:
    with pytest.raises(Unavailable):
        together(driver, *([Decide("home", driver.ask("d1"))] * (WAITING_MAX + 1)))
    assert driver.host.queued() == 0


def test_a_refusal_is_not_kept_under_its_key(driver: Driver) -> None:
    one = keyed(Decide("home", driver.ask("d1")), "k1")
    driver.change(paused=True)
    (refused,) = together(driver, one)
    assert isinstance(refused, Conflict)
    driver.change(paused=False)
    assert together(driver, one) == [Rendered(201, b"1")]


def test_every_learner_of_a_batch_has_its_head_moved(driver: Driver, database: Database) -> None:
    driver.create("other")
    together(driver, *(Decide(name, driver.ask("d1")) for name in ("home", "other")))
    with database.read() as connection:
        assert [row.head for row in learners.page(connection, "", 10)] == [1, 1]


def test_a_batch_larger_than_one_statement_takes_is_written_whole(driver: Driver, database: Database) -> None:
    count = sum(ROWS_AT_ONCE) + 7
    together(driver, Decide("home", joined([driver.ask(f"d{i}") for i in range(count)])))
    with database.read() as connection:
        assert [event.event_id for event in events_after(connection, 1, 0, count)] == [f"d/d{i}" for i in range(count)]
        assert len(due(connection, 1, 2**60, count + 1)) == count


def test_a_key_is_kept_though_its_request_added_nothing_to_the_log(driver: Driver) -> None:
    driver.decide("d1")
    repeat = Decide("home", driver.ask("d1"))
    assert together(driver, keyed(repeat, "k1")) == [Rendered(201, b"1")]
    (problem,) = together(driver, keyed(repeat, "k1", b"another body"))
    assert isinstance(problem, Conflict)


def test_two_processes_that_write_at_the_same_time_do_not_collide(driver: Driver, database: Database) -> None:
    with driving(database, driver.clock) as other:
        both = [driver, other]
        asked = [d.host.submit(Decide("home", d.ask(f"{i} {d is other}"))) for i in range(50) for d in both]
        positions = [answer.result(10)[0].position for answer in asked]
        assert sorted(positions) == list(range(1, 101))
        assert [d.host.meter.commit_failures for d in both] == [0, 0]


def test_features_made_for_a_learner_that_was_replaced_are_not_taken(driver: Driver) -> None:
    other = draw(spec(features={"kind": "dense", "action": 2, "context": 1})).encoder
    mine = draw(spec()).encoder
    refused, taken = together(driver, Decide("home", driver.ask("d1"), other), Decide("home", driver.ask("d2"), mine))
    assert isinstance(refused, Unavailable)
    assert taken[0].position == 1
