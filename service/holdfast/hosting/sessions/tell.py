"""Events of sessions in words that a caller can read, with all it takes to fold them again."""

import base64
from typing import Any

from holdfast.hosting.sessions.records import (
    EpisodeRecord,
    FinishRecord,
    HorizonRecord,
    LearnedRecord,
    StepRecord,
    StepRewardRecord,
    candidates,
    number_of,
    unpack,
)
from holdfast.store.log import Event


def tell(event: Event) -> dict[str, Any]:
    """One event of the log."""
    told: dict[str, Any] = {"position": event.position, "kind": event.kind, "at": event.at / 1e6}
    if event.kind in ("plan", "import", "horizon"):
        return told | {"episode_id": None} | _of_the_learner(event)
    told["episode_id"] = event.event_id.split("/", 1)[1]
    if event.kind == "episode":
        return told | {"episode_length": unpack(event.payload, EpisodeRecord).length}
    told["about"] = event.about
    if event.kind in ("step", "reward"):
        told |= {"episode_id": event.event_id.split("/", 2)[2], "step": number_of(event.event_id)}
    return told | _of_the_episode(event)


def tell_episode(start: Event, said: list[Event]) -> dict[str, Any]:
    """An episode, its steps and rewards in order, and what became of it: null while it is open."""
    told = [tell(event) for event in said]
    return tell(start) | {
        "steps": [one for one in told if one["kind"] == "step"],
        "rewards": [one for one in told if one["kind"] == "reward"],
        "finish": next((one for one in told if one["kind"] == "finish"), None),
        "learned": next((one for one in told if one["kind"] == "learned"), None),
    }


def _of_the_learner(event: Event) -> dict[str, Any]:
    if event.kind == "horizon":
        record = unpack(event.payload, HorizonRecord)
        return {"horizon": record.horizon, "folded_to": record.folded_to}
    name = "plan" if event.kind == "plan" else "state"
    return {name: base64.b64encode(event.payload).decode()}


def _of_the_episode(event: Event) -> dict[str, Any]:
    if event.kind == "step":
        return _step(unpack(event.payload, StepRecord))
    if event.kind == "reward":
        told = unpack(event.payload, StepRewardRecord)
        return {"value": told.value, "source": event.source, "outcome": told.outcome, "reward": told.reward}
    if event.kind == "finish":
        following = unpack(event.payload, FinishRecord).following
        return {"following": base64.b64encode(following).decode() or None}
    learned = unpack(event.payload, LearnedRecord)
    return {
        "reason": learned.reason,
        "taken": learned.taken,
        "steps": learned.steps,
        "rewards": learned.rewards,
        "weights": learned.weights,
        "defaulted": learned.defaulted,
        "ended": learned.ended,
    }


def _step(record: StepRecord) -> dict[str, Any]:
    return {
        "action": record.ids[record.shown],
        "shown": record.shown,
        "actions": record.ids,
        "phi": candidates(record).tolist(),
        "mode": record.mode,
    }
