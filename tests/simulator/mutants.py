"""Broken builds of the service that the simulator's auditor must catch; called in the serving process before it serves.

`early_ack` is the chaos harness's own.
"""

from itertools import count
from typing import Any

from holdfast.hosting import learn
from holdfast.hosting.sessions import reward
from holdfast.store.log import Event, Transaction
from tests.chaos import mutants

ONE_IN = 1_000

# What each is to be caught at: one of these, at least.
MUTANTS = {
    "lose_one": {"lost"},
    "double_one": {"doubled"},
    "early_ack": {"not durable"},
    "forget_source": {"altered"},
}


SESSION_MUTANTS = {"lose_step_reward": {"lost"}, "early_ack": {"not durable"}}
ONE_STEP_IN = 50


def lose_step_reward() -> None:
    """One reward of a step in fifty is acknowledged, and not written down."""
    numbers, log = count(1), reward.log_reward

    def forgetful(live: Any, transaction: Transaction, *rest: Any) -> int:
        if next(numbers) % ONE_STEP_IN:
            return log(live, transaction, *rest)
        live.position += 1
        return live.position

    reward.log_reward = forgetful


def lose_one() -> None:
    """One reward in a thousand is learned and acknowledged, and not written down."""
    numbers, log = count(1), learn._log

    def forgetful(*arguments: Any) -> None:
        if next(numbers) % ONE_IN:
            log(*arguments)

    learn._log = forgetful


def double_one() -> None:
    """One reward in a thousand is written down twice."""
    numbers, log = count(1), learn._log

    def stuttering(live: Any, transaction: Transaction, decision: Event, claim: Any, record: Any, now: int) -> None:
        log(live, transaction, decision, claim, record, now)
        if next(numbers) % ONE_IN == 0:
            name, first = learn.reward_event_id, learn._log
            learn.reward_event_id = lambda decision_id, shown: f"r/{shown + 1}/{decision_id}"
            log(live, transaction, decision, claim, record, now)
            learn.reward_event_id, learn._log = name, first

    learn._log = stuttering


def early_ack() -> None:
    """The answers go out, then comes the commit."""
    mutants.early_ack()


def forget_source() -> None:
    """Who said it is not written down."""
    log = learn._log

    def discreet(live: Any, transaction: Transaction, decision: Event, claim: Any, record: Any, now: int) -> None:
        log(live, transaction, decision, claim._replace(source=None), record, now)

    learn._log = discreet
