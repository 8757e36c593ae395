"""Events in words that a caller can read."""

import base64
from typing import Any

import numpy as np

from holdfast.hosting.records import shown_features, unpack_decision, unpack_expiry, unpack_observation, unpack_reward
from holdfast.store.log import Event


def tell(event: Event) -> dict[str, Any]:
    """One event of the log."""
    told: dict[str, Any] = {"position": event.position, "kind": event.kind, "at": event.at / 1e6}
    told["decision_id"] = event.event_id.split("/", 1)[1]
    if event.kind == "import":
        return {**told, "decision_id": None, "state": base64.b64encode(event.payload).decode()}
    if event.kind == "observation":
        return told | {"decision_id": None} | _observation(event)
    if event.kind == "decision":
        return told | _decision(event)
    told["about"] = event.about
    return told | (_reward(event) if event.kind == "reward" else _expiry(event))


def tell_decision(event: Event, said: list[Event]) -> dict[str, Any]:
    """A decision and everything that was said of it."""
    return tell(event) | {"rewards": [tell(other) for other in said]}


def _decision(event: Event) -> dict[str, Any]:
    record = unpack_decision(event.payload)
    shown = [record.ids[index] for index in record.shown]
    phi = shown_features(record).tolist()
    return {"action": shown[0], "shown": shown, "phi": phi, "mode": record.mode, "actions": record.ids}


def _reward(event: Event) -> dict[str, Any]:
    record = unpack_reward(event.payload)
    return {
        "decision_id": event.event_id.split("/", 2)[2],
        "shown": record.shown,
        "value": record.value,
        "source": event.source,
        "outcome": record.outcome,
        "reward": record.reward,
        "weight": record.weight,
    }


def _observation(event: Event) -> dict[str, Any]:
    record = unpack_observation(event.payload)
    return {
        "action": record.action_id,
        "phi": np.frombuffer(record.phi).tolist(),
        "value": record.value,
        "source": event.source,
        "reward": record.reward,
        "weight": record.weight,
        "probability": record.probability,
    }


def _expiry(event: Event) -> dict[str, Any]:
    record = unpack_expiry(event.payload)
    return {"rewards": record.rewards, "weights": record.weights}
