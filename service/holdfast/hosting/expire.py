"""The end of a reward wait, as an event in the log: replay does not depend on the clock."""

from dataclasses import dataclass

from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import OneByOne
from holdfast.hosting.records import DecisionRecord, ExpiryRecord, pack, shown_features, unpack_decision, unpack_reward
from holdfast.store.log import Event, Transaction, due, events_about, events_at

EXPIRIES_PER_SWEEP = 500


@dataclass(frozen=True)
class Expire(OneByOne):
    """Settle the decisions of one learner whose wait has ended."""

    learner: str

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> int:
        """How many were settled."""
        if live.paused:
            return 0
        rows = due(transaction.connection, live.id, now, EXPIRIES_PER_SWEEP)
        decisions = events_at(transaction.connection, live.id, [row.position for row in rows])
        expire(live, transaction, [decisions[row.position] for row in rows], now)
        return len(rows)


def expire(live: LiveLearner, transaction: Transaction, decisions: list[Event], now: int) -> None:
    """Learn what is to be learned of each decision at the end of its wait, and log that it ended."""
    said = events_about(transaction.connection, live.id, [decision.position for decision in decisions])
    for decision in decisions:
        _expire(live, transaction, decision, said[decision.position], now)


def _expire(live: LiveLearner, transaction: Transaction, decision: Event, about: list[Event], now: int) -> None:
    live.open.forget(decision.event_id)
    record = unpack_decision(decision.payload)
    rewards = _rewards(live, record, about)
    phi = shown_features(record)
    weights = [live.learn(row, r) if r is not None else None for row, r in zip(phi, rewards, strict=True)]
    for reward in rewards:
        if reward is not None:
            live.tally.count("defaulted")
    live.position += 1
    live.expiries += 1
    event_id = f"x/{decision.event_id.removeprefix('d/')}"
    payload = pack(ExpiryRecord(rewards, weights))
    transaction.append(live.id, Event(live.position, "expiry", event_id, now, None, decision.position, payload))
    transaction.settle(live.id, decision)


def _rewards(live: LiveLearner, record: DecisionRecord, about: list[Event]) -> list[float | None]:
    """For each shown action: what its rewards come to, or the default; None where nothing is to be learned."""
    if live.mode == "frozen":
        return [None] * len(record.shown)
    said: list[list[float]] = [[] for _ in record.shown]
    learned = [False] * len(record.shown)
    for event in about:
        if event.kind == "reward":
            told = unpack_reward(event.payload)
            said[told.shown].append(told.value)
            learned[told.shown] = learned[told.shown] or told.outcome == "learned"
    rule = live.blueprint.reward
    totals = [None if done else rule.aggregated(values) for done, values in zip(learned, said, strict=True)]
    return [None if total is None else rule.scaled(total) for total in totals]
