"""What a learner has been doing lately, read from the end of its log: the same before and after a restart."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from holdfast.hosting.records import DecisionRecord, unpack_decision
from holdfast.hosting.sessions.records import StepRecord, unpack
from holdfast.store.database import Connection
from holdfast.store.log import events_at, latest

EVENTS_MAX = 1_000  # at the end of the log, among which decisions are looked for
DECISIONS_MAX = 50
STEPS_MAX = 10  # which are larger
ACTIONS_MAX = 20


def recent_actions(connection: Connection, learner_id: int) -> list[dict[str, Any]]:
    """The actions shown last, each once, the latest first, as the learner saw them when it last showed them."""
    positions = latest(connection, learner_id, "decision", EVENTS_MAX)[:DECISIONS_MAX]
    decisions = events_at(connection, learner_id, positions)
    records = (unpack_decision(decisions[position].payload) for position in positions)
    return _each_once((record, record.shown) for record in records)


def recent_steps(connection: Connection, learner_id: int) -> list[dict[str, Any]]:
    """The same of the latest steps of sessions."""
    positions = latest(connection, learner_id, "step", EVENTS_MAX)[:STEPS_MAX]
    steps = events_at(connection, learner_id, positions)
    records = (unpack(steps[position].payload, StepRecord) for position in positions)
    return _each_once((record, [record.shown]) for record in records)


def _each_once(shown: Iterable[tuple[DecisionRecord | StepRecord, list[int]]]) -> list[dict[str, Any]]:
    seen: dict[str, dict[str, Any]] = {}
    for record, indexes in shown:
        mean, bonus = np.frombuffer(record.mean), np.frombuffer(record.bonus)
        for index in indexes:
            action = record.ids[index]
            if len(seen) < ACTIONS_MAX and action not in seen:
                seen[action] = {"id": action, "mean": float(mean[index]), "bonus": float(bonus[index])}
    return list(seen.values())
