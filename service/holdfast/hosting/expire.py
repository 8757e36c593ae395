"""The end of a reward wait, as an event in the log: replay does not depend on the clock."""

from holdfast.hosting.live import LiveBandit
from holdfast.hosting.records import (
    DecisionRecord,
    ExpiryRecord,
    RewardRecord,
    pack,
    shown_features,
    unpack_decision,
    unpack_reward,
)
from holdfast.store.log import Event, Transaction, events_about


def expire(live: LiveBandit, transaction: Transaction, decisions: list[Event], now: int) -> None:
    """Learn what is to be learned of each decision at the end of its wait, and log that it ended."""
    said = events_about(transaction.connection, live.id, [decision.position for decision in decisions])
    for decision in decisions:
        _expire(live, transaction, decision, said[decision.position], now)


def _expire(live: LiveBandit, transaction: Transaction, decision: Event, about: list[Event], now: int) -> None:
    live.open.forget(decision.event_id)
    record = unpack_decision(decision.payload)
    said = _said(record, about)
    rewards = [_reward(live, rewards) for rewards in said]
    told = [sum(reward.outcome == "pending" for reward in rewards) for rewards in said]
    phi = shown_features(record)
    weights = [live.learn(row, r) if r is not None else None for row, r in zip(phi, rewards, strict=True)]
    for reward, count in zip(rewards, told, strict=True):
        live.tally.settle(reward is not None, count)
    live.position += 1
    live.expiries += 1
    event_id = f"x/{decision.event_id.removeprefix('d/')}"
    payload = pack(ExpiryRecord(rewards, weights, told))
    transaction.append(live.id, Event(live.position, "expiry", event_id, now, None, decision.position, payload))
    transaction.settle(live.id, decision)


def _said(record: DecisionRecord, about: list[Event]) -> list[list[RewardRecord]]:
    """The rewards of each shown action."""
    said: list[list[RewardRecord]] = [[] for _ in record.shown]
    for event in about:
        if event.kind == "reward":
            told = unpack_reward(event.payload)
            said[told.shown].append(told)
    return said


def _reward(live: LiveBandit, said: list[RewardRecord]) -> float | None:
    """What the pending rewards of a shown action come to, or the default; None where nothing is to be learned."""
    pending = [reward.value for reward in said if reward.outcome == "pending"]
    was_answered = len(pending) < len(said)  # learned at once, or ignored, and that is what its caller was told
    if live.mode == "frozen" or (was_answered and not pending):
        return None
    total = live.blueprint.reward.aggregated(pending)
    return None if total is None else live.blueprint.reward.scaled(total)
