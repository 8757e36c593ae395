"""Every call of the contract as a value: what to send, and how to read the answer. No I/O; both clients share it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from holdfast_client import answers
from holdfast_client.bodies import Claim, Observation, batch, encode, new_id, observations
from holdfast_client.models import (
    Decision,
    DecisionRecord,
    Diagnostics,
    EpisodeEnd,
    EpisodeStart,
    Health,
    Learner,
    LogEvent,
    Observed,
    Retraction,
    RewardResult,
    Step,
)
from holdfast_client.models import read as read_item

T = TypeVar("T")

JSON = {"Content-Type": "application/json"}
OCTETS = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True)
class Call(Generic[T]):
    """One logical call: its bytes and its idempotency key are the same on every attempt."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    is_decision: bool = False  # somebody waits for it: the short time-out
    is_repeatable: bool = True  # a second time does no harm
    gone_is_done: bool = False  # not found on a later attempt means that an earlier one did it
    statuses: tuple[int, ...] = ()  # that `read` takes, besides success

    def request(self) -> dict[str, Any]:
        """The arguments of httpx's `request`."""
        return {
            "method": self.method,
            "url": self.path,
            "content": self.content,
            "headers": self.headers,
            "params": self.params or None,
        }

    def accepted(self, attempts: int) -> tuple[int, ...]:
        """The statuses besides success that are fine at this attempt."""
        return (*self.statuses, 404) if self.gone_is_done and attempts > 1 else self.statuses


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some items, and where the next ones begin."""

    items: Sequence[T]
    next_cursor: str | None


def create_learner(description: Mapping[str, Any]) -> Call[Learner]:
    """Creating the same learner again is no error, so this needs no key."""
    return Call("POST", "/v1/learners", answers.one(Learner), encode(description), JSON)


def get_learner(name: str) -> Call[Learner]:
    return Call("GET", _learner(name), answers.one(Learner))


def list_learners(cursor: str | None, limit: int) -> Call[Page[Learner]]:
    return Call("GET", "/v1/learners", _page(Learner), params=_given(cursor=cursor, limit=limit))


def update_learner(name: str, changes: Mapping[str, Any]) -> Call[Learner]:
    return Call("PATCH", _learner(name), answers.one(Learner), encode(changes), JSON)


def delete_learner(name: str) -> Call[None]:
    return Call("DELETE", _learner(name), answers.nothing, gone_is_done=True)


def decide(learner: str, question: Mapping[str, Any]) -> Call[Decision]:
    """The question's `decision_id` is its idempotency key."""
    path = f"{_learner(learner)}/decisions"
    return Call("POST", path, answers.decision, encode(question), JSON, is_decision=True)


def decide_many(learner: str, questions: Sequence[Mapping[str, Any]]) -> Call[list[Decision]]:
    """Each question's `decision_id` is its idempotency key."""
    path = f"{_learner(learner)}/decisions/batch"
    return Call("POST", path, answers.decisions(len(questions)), encode(batch(questions)), JSON, is_decision=True)


def reward(learner: str, claim: Claim, key: str | None = None) -> Call[RewardResult]:
    return _keyed(f"{_learner(learner)}/rewards", answers.reward, encode(claim), key)


def reward_many(learner: str, claims: Sequence[Claim], key: str | None = None) -> Call[list[RewardResult]]:
    return _rewards(learner, [claim["decision_id"] for claim in claims], encode({"rewards": list(claims)}), key)


def reward_batch(
    learner: str, decision_ids: Sequence[str], encoded: Sequence[bytes], key: str | None = None
) -> Call[list[RewardResult]]:
    """Rewards that were written one by one, as a queue has them."""
    return _rewards(learner, decision_ids, b'{"rewards":[' + b",".join(encoded) + b"]}", key)


def _rewards(learner: str, decision_ids: Sequence[str], content: bytes, key: str | None) -> Call[list[RewardResult]]:
    return _keyed(f"{_learner(learner)}/rewards/batch", answers.rewards(decision_ids), content, key)


def decision(learner: str, decision_id: str) -> Call[DecisionRecord]:
    return Call("GET", f"{_learner(learner)}/decisions/{_segment(decision_id)}", answers.decision_record)


def observe(learner: str, events: Sequence[Observation], key: str | None = None) -> Call[list[Observed]]:
    content = encode({"events": observations(events)})
    return _keyed(f"{_learner(learner)}/events", answers.many(Observed, "events"), content, key)


def start_episode(learner: str, episode_id: str) -> Call[EpisodeStart]:
    content = encode({"episode_id": episode_id})
    return _keyed(f"{_learner(learner)}/episodes", answers.one(EpisodeStart), content, None)


def step(learner: str, episode_id: str, body: Mapping[str, Any]) -> Call[Step]:
    path = f"{_episode(learner, episode_id)}/steps"
    return _keyed(path, answers.step, encode(body), None, is_decision=True)


def reward_step(learner: str, episode_id: str, body: Mapping[str, Any]) -> Call[RewardResult]:
    read = answers.step_reward(episode_id)
    return _keyed(f"{_episode(learner, episode_id)}/rewards", read, encode(body), None)


def finish_episode(learner: str, episode_id: str, body: Mapping[str, Any]) -> Call[EpisodeEnd]:
    return _keyed(f"{_episode(learner, episode_id)}/finish", answers.one(EpisodeEnd), encode(body), None)


def diagnostics(learner: str) -> Call[Diagnostics]:
    return Call("GET", f"{_learner(learner)}/diagnostics", answers.diagnostics)


def export_state(learner: str) -> Call[bytes]:
    return Call("GET", f"{_learner(learner)}/state", lambda response: response.content)


def import_state(learner: str, state: bytes) -> Call[int]:
    """Once a state is in, the learner is not empty any more: a second time would be refused."""
    path = f"{_learner(learner)}/state"
    return Call("PUT", path, answers.position, state, OCTETS, is_repeatable=False)


def log(learner: str, after: str | None, limit: int) -> Call[Page[LogEvent]]:
    return Call("GET", f"{_learner(learner)}/log", _page(LogEvent), params=_given(after=after, limit=limit))


def retract(learner: str, source: str | None, decision_ids: Sequence[str] | None) -> Call[Retraction]:
    if (source is None) == (decision_ids is None):
        raise ValueError("say either the source or the decision_ids to retract")
    body = {"source": source} if source is not None else {"decision_ids": list(decision_ids or ())}
    return _keyed(f"{_learner(learner)}/retractions", answers.one(Retraction), encode(body), None)


def health() -> Call[Health]:
    return Call("GET", "/health/ready", answers.health, statuses=(503,))


def _keyed(
    path: str, read: Callable[[httpx.Response], T], content: bytes, key: str | None, is_decision: bool = False
) -> Call[T]:
    """A POST that is done once, however often it is sent."""
    headers = {**JSON, "Idempotency-Key": key or new_id()}
    return Call("POST", path, read, content, headers, is_decision=is_decision)


def _page(cls: type[T]) -> Callable[[httpx.Response], Page[T]]:
    def read(response: httpx.Response) -> Page[T]:
        body = json.loads(response.content)
        cursor = body["next_cursor"]
        return Page([read_item(cls, item) for item in body["items"]], None if cursor is None else str(cursor))

    return read


def _given(**params: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}


def _learner(name: str) -> str:
    return f"/v1/learners/{_segment(name)}"


def _episode(learner: str, episode_id: str) -> str:
    return f"{_learner(learner)}/episodes/{_segment(episode_id)}"


def _segment(text: str) -> str:
    """One segment of a path: whatever the text is, it cannot become another address.

    >>> _segment("a/b c")
    'a%2Fb%20c'
    """
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} cannot be part of an address")
    return quote(text, safe="")
