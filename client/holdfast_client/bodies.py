"""What a caller hands over, and how it is written into a request: types, ids and JSON, no I/O."""

import json
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

from holdfast_client.errors import Unsendable
from holdfast_client.models import FALLBACK_PREFIX, Decision


class Array(Protocol):
    """A numpy array, or whatever else becomes a list."""

    def tolist(self) -> Any: ...


Features: TypeAlias = Sequence[float] | Mapping[str, Any] | Array | int | None
"""A vector, an object of named features, the number of a state, or nothing, as the learner's `features` ask for."""


class _ActionId(TypedDict):
    id: str


class Action(_ActionId, total=False):
    """A candidate with an id."""

    features: Features


Actions: TypeAlias = Mapping[str, Features] | Sequence[str | Action]
"""The candidates: features by id, ids alone, or `Action` objects."""


class _Candidates(TypedDict):
    actions: Actions


class Question(_Candidates, total=False):
    """One decision to make, in a batch."""

    context: Features
    decision_id: str
    top: int
    ranking: str


class _Valued(TypedDict):
    decision_id: str
    value: float


class Claim(_Valued, total=False):
    """One reward, in a batch."""

    action_id: str
    source: str


class _Shown(TypedDict):
    actions: Actions
    action_id: str
    value: float


class Observation(_Shown, total=False):
    """Something that was shown and rewarded elsewhere, for a warm start."""

    context: Features
    probability: float
    source: str


def encode(body: object) -> bytes:
    """JSON as the server takes it: compact, finite numbers only, arrays as lists.

    >>> encode({"context": [0.5]})
    b'{"context":[0.5]}'
    """
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_as_list).encode()
    except ValueError as problem:
        where = next(_not_finite(body, ""), None)
        said = str(problem) if where is None else f"{where}, and JSON has finite numbers only"
        raise Unsendable(f"the request cannot be written as JSON: {said}") from problem


def new_id() -> str:
    return uuid.uuid4().hex


def listed(actions: Actions) -> list[Mapping[str, Any]]:
    """The candidates as the contract has them.

    >>> listed({"a": [0.3]}), listed(["a"])
    ([{'id': 'a', 'features': [0.3]}], [{'id': 'a'}])
    """
    if isinstance(actions, str):
        raise TypeError("actions are a list of ids, not one of them")
    if isinstance(actions, Mapping):
        return [{"id": name, "features": features} for name, features in actions.items()]
    return [{"id": action} if isinstance(action, str) else action for action in actions]


def question(
    actions: Actions, context: Features, decision_id: str | None = None, top: int = 1, ranking: str = "complete"
) -> dict[str, Any]:
    """A decision to make. It always has an id, so that asking again is the same question and gets the same answer."""
    asked: dict[str, Any] = {"decision_id": _named(decision_id), "actions": listed(actions)}
    if context is not None:
        asked["context"] = context
    if top != 1:
        asked["top"] = top
    if ranking != "complete":
        asked["ranking"] = ranking
    return asked


def questions(many: Sequence[Question]) -> list[dict[str, Any]]:
    """Several of them; whatever else an item has goes along, for the server to judge. None says nothing."""
    asked = list(many)
    given = [one["actions"] for one in asked]  # held while they are known by their identity
    lists = {id(actions): listed(actions) for actions in given}
    return [
        {name: said for name, said in one.items() if said is not None}
        | {"decision_id": _named(one.get("decision_id")), "actions": lists[id(actions)]}
        for one, actions in zip(asked, given, strict=True)
    ]


def batch(asked: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Questions as one body. If several have the same actions, that is, the same object, these are said once.

    >>> actions = [{"id": "a"}]
    >>> batch([{"actions": actions, "context": [1.0]}, {"actions": actions, "context": [2.0]}])
    {'actions': [{'id': 'a'}], 'decisions': [{'context': [1.0]}, {'context': [2.0]}]}
    """
    if len(asked) < 2 or len({id(one["actions"]) for one in asked}) > 1:
        return {"decisions": asked}
    rest = [{name: said for name, said in one.items() if name != "actions"} for one in asked]
    return {"actions": asked[0]["actions"], "decisions": rest}


def claim(decision: Decision | str, value: float, action_id: str | None, source: str | None) -> Claim:
    """A reward for a decision or its id."""
    said: Claim = {"decision_id": decision if isinstance(decision, str) else decision.decision_id, "value": value}
    if action_id is not None:
        said["action_id"] = action_id
    if source is not None:
        said["source"] = source
    return said


def observations(many: Sequence[Observation]) -> list[dict[str, Any]]:
    return [{**one, "actions": listed(one["actions"])} for one in many]


def was_fallback(said: Claim) -> bool:
    """Whether a reward is for a decision that the server never made."""
    return said["decision_id"].startswith(FALLBACK_PREFIX)


def _named(decision_id: str | None) -> str:
    """The caller's id or a new one; never one that looks like a fallback's, whose rewards are ignored."""
    if decision_id is not None and decision_id.startswith(FALLBACK_PREFIX):
        raise ValueError(f"a decision_id cannot begin with {FALLBACK_PREFIX!r}")
    return decision_id or new_id()


def _not_finite(body: Any, pointer: str) -> Iterator[str]:
    """Where a number is that JSON does not have.

    >>> next(_not_finite({"context": [0.5, float("nan")]}, ""))
    '/context/1 is nan'
    """
    if hasattr(body, "tolist"):
        body = body.tolist()
    if isinstance(body, float) and not math.isfinite(body):
        yield f"{pointer} is {body}"
    elif isinstance(body, Mapping):
        for name, inner in body.items():
            yield from _not_finite(inner, f"{pointer}/{name}")
    elif isinstance(body, list | tuple):
        for place, inner in enumerate(body):
            yield from _not_finite(inner, f"{pointer}/{place}")


def _as_list(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")
