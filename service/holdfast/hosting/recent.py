"""What a learner has been doing lately, read from the end of its log: the same before and after a restart."""

from typing import Any

import numpy as np

from holdfast.hosting.records import unpack_decision
from holdfast.store.database import Connection
from holdfast.store.log import events_at, latest

EVENTS_MAX = 1_000  # at the end of the log, among which decisions are looked for
DECISIONS_MAX = 50
ACTIONS_MAX = 20


def recent_actions(connection: Connection, learner_id: int) -> list[dict[str, Any]]:
    """The actions shown last, each once, the latest first, as the learner saw them when it last showed them."""
    positions = latest(connection, learner_id, "decision", EVENTS_MAX)[:DECISIONS_MAX]
    decisions = events_at(connection, learner_id, positions)
    seen: dict[str, dict[str, Any]] = {}
    for position in positions:
        record = unpack_decision(decisions[position].payload)
        mean, bonus = np.frombuffer(record.mean), np.frombuffer(record.bonus)
        for index in record.shown:
            action = record.ids[index]
            if len(seen) < ACTIONS_MAX and action not in seen:
                seen[action] = {"id": action, "mean": float(mean[index]), "bonus": float(bonus[index])}
    return list(seen.values())
