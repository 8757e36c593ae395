"""The end of a reward wait, as an event in the log: replay does not depend on the clock."""

from holdfast.hosting.live import LiveBandit
from holdfast.hosting.records import DecisionRecord, ExpiryRecord, pack, shown_features, unpack_decision, unpack_reward
from holdfast.store.log import Event, Transaction, events_about


def expire(live: LiveBandit, transaction: Transaction, decisions: list[Event], now: int) -> None:
    """Learn what is to be learned of each decision at the end of its wait, and log that it ended."""
    said = events_about(transaction.connection, live.id, [decision.position for decision in decisions])
    for decision in decisions:
        _expire(live, transaction, decision, said[decision.position], now)


def _expire(live: LiveBandit, transaction: Transaction, decision: Event, about: list[Event], now: int) -> None:
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


def _rewards(live: LiveBandit, record: DecisionRecord, about: list[Event]) -> list[float | None]:
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
