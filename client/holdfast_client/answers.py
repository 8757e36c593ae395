"""Reading what came back: results out of successes, errors out of everything else."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar

import httpx

from holdfast_client.bodies import Claim, was_fallback
from holdfast_client.errors import (
    ConfigurationError,
    Flaw,
    HoldfastError,
    NoAnswer,
    Problem,
    TimedOut,
    UnexpectedAnswer,
    refusal,
)
from holdfast_client.models import (
    FALLBACK_PREFIX,
    Chosen,
    Decision,
    DecisionRecord,
    Diagnostics,
    Health,
    RewardRecord,
    RewardResult,
    Step,
    Weights,
    read,
)
from holdfast_client.retries import may_pass
from holdfast_client.settings import KEY_VARIABLE

T = TypeVar("T")
NO_KEY = f"no key was given: set {KEY_VARIABLE}, or say api_key="
_PROBLEM_MEMBERS = ("type", "title", "status", "detail", "errors")
_OUR_FAULT = (httpx.LocalProtocolError, httpx.UnsupportedProtocol)
_NOTHING_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def one(cls: type[T]) -> Callable[[httpx.Response], T]:
    return lambda response: read(cls, json.loads(response.content))


def many(cls: type[T], member: str) -> Callable[[httpx.Response], list[T]]:
    return lambda response: [read(cls, item) for item in json.loads(response.content)[member]]


def nothing(response: httpx.Response) -> None:
    return None


def position(response: httpx.Response) -> int:
    return int(json.loads(response.content)["position"])


def health(response: httpx.Response) -> Health:
    return read(Health, json.loads(response.content), ready=response.is_success)


def decision(response: httpx.Response) -> Decision:
    return _decision(json.loads(response.content))


def decisions(count: int) -> Callable[[httpx.Response], list[Decision]]:
    return lambda response: [_decision(body) for body in _all(count, json.loads(response.content)["decisions"])]


def step(response: httpx.Response) -> Step:
    body = json.loads(response.content)
    rows = body.pop("ranking", ())
    return read(Step, body, action=read(Chosen, body["action"]), _ranking=rows)


def reward(response: httpx.Response) -> RewardResult:
    return _reward(json.loads(response.content))


def step_reward(episode_id: str) -> Callable[[httpx.Response], RewardResult]:
    """The reward of a step has no decision of its own; it goes by the episode."""
    return lambda response: _reward({"decision_id": episode_id, **json.loads(response.content)})


def rewards(decision_ids: Sequence[str]) -> Callable[[httpx.Response], list[RewardResult]]:
    """In the order of these. What is no id the server does not repeat: such a reward is known by its place."""

    def read_all(response: httpx.Response) -> list[RewardResult]:
        told = _all(len(decision_ids), json.loads(response.content)["rewards"])
        unnamed = [place for place, body in enumerate(told) if body["decision_id"] is None]
        for place in unnamed:
            told[place]["decision_id"] = decision_ids[place]
        return [_reward(body) for body in told]

    return read_all


def decision_record(response: httpx.Response) -> DecisionRecord:
    body = json.loads(response.content)
    said = tuple(read(RewardRecord, row) for row in body.get("rewards", ()))
    return read(DecisionRecord, body, shown=tuple(body["shown"]), rewards=said)


def diagnostics(response: httpx.Response) -> Diagnostics:
    body = json.loads(response.content)
    return read(Diagnostics, body, weights=read(Weights, body.get("weights", {})))


def fallback(learner: str, question: Mapping[str, Any], default_action: str | None, problem: HoldfastError) -> Decision:
    """The default action in place of an answer, if there is one and the problem may pass; otherwise the problem.

    The server may have made the decision all the same, and chosen another action. So the fallback has an id that no
    server knows: a reward for what was really shown must not be credited to what the server would have shown.
    """
    if default_action is None or not may_pass(problem):
        raise problem
    ids = [action["id"] for action in question["actions"]]
    return Decision(
        decision_id=FALLBACK_PREFIX + question["decision_id"],
        learner=learner,
        action=Chosen(default_action, ids.index(default_action)),
        position=None,
        fallback=True,
        problem=problem,
    )


def fallbacks(
    learner: str, questions: Sequence[Mapping[str, Any]], default_actions: Sequence[str] | None, problem: HoldfastError
) -> list[Decision]:
    """One for each question, or the problem."""
    if default_actions is None:
        raise problem
    return [fallback(learner, q, default, problem) for q, default in zip(questions, default_actions, strict=True)]


def check_default(question: Mapping[str, Any], default_action: str | None) -> None:
    """A default that is not among the actions is a mistake to find before the outage that needs it."""
    if default_action is not None and all(action["id"] != default_action for action in question["actions"]):
        raise ValueError("the default_action must be the id of one of the actions")


def check_defaults(questions: Sequence[Mapping[str, Any]], default_actions: Sequence[str] | None) -> None:
    """As many defaults as questions, each one of its actions."""
    if default_actions is None:
        return
    if len(default_actions) != len(questions):
        raise ValueError("default_actions must have one for each decision")
    for question, default_action in zip(questions, default_actions, strict=True):
        check_default(question, default_action)


def ignored(claim: Claim) -> RewardResult:
    """What becomes of a reward for a fallback: nothing, and nothing is sent."""
    return RewardResult(claim["decision_id"], "ignored", extra={"fallback": True})


def merged(claims: Sequence[Claim], answered: Sequence[RewardResult]) -> list[RewardResult]:
    """One result each in the order of the claims, `answered` being those of the claims that were sent."""
    sent = iter(answered)
    return [ignored(claim) if was_fallback(claim) else next(sent) for claim in claims]


def unreachable(problem: httpx.RequestError) -> HoldfastError:
    """The transport's complaint in our words; the address without what is secret in it."""
    url = problem.request.url.copy_with(userinfo=b"", query=None)
    said = f"{type(problem).__name__} at {url}: {problem}"
    if isinstance(problem, _OUR_FAULT):
        return ConfigurationError(said)
    kind = TimedOut if isinstance(problem, httpx.TimeoutException) else NoAnswer
    return kind(said, isinstance(problem, _NOTHING_SENT))


def check(response: httpx.Response, accepted: Sequence[int] = ()) -> None:
    """Raise the error that an answer means, if it means one; `accepted` are statuses that are fine besides success."""
    if response.is_success or response.status_code in accepted:
        return
    request_id = response.headers.get("X-Request-Id")
    if response.status_code < 400:
        raise UnexpectedAnswer("the server redirects; is the address right?", response.status_code, request_id)
    problem = _problem(_document(response), response.status_code)
    if response.status_code == HTTPStatus.UNAUTHORIZED and "Authorization" not in response.request.headers:
        problem = replace(problem, detail=f"{problem.detail}; {NO_KEY}")
    raise refusal(response.status_code)(problem, request_id, _retry_after_s(response))


def understood(response: httpx.Response, read_answer: Callable[[httpx.Response], T]) -> T:
    """The answer, or an error that says that it is not one of Holdfast's."""
    try:
        return read_answer(response)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        request_id = response.headers.get("X-Request-Id")
        said = f"the answer is not one that Holdfast gives: {type(problem).__name__}: {problem}"
        raise UnexpectedAnswer(said, response.status_code, request_id) from problem


def _all(count: int, items: list[T]) -> list[T]:
    if len(items) != count:
        raise ValueError(f"{len(items)} answers to {count} items")
    return items


def _decision(body: dict[str, Any]) -> Decision:
    rows = body.pop("ranking", ())
    return read(Decision, body, action=read(Chosen, body["action"]), _ranking=rows)


def _reward(body: dict[str, Any]) -> RewardResult:
    problem = body.pop("problem", None)
    if problem is not None:
        return read(RewardResult, body, outcome="refused", problem=_problem(problem, 0))
    return read(RewardResult, body)


def _document(response: httpx.Response) -> Mapping[str, Any]:
    """The problem document, or what can be said without one."""
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


def _problem(body: Mapping[str, Any], status: int) -> Problem:
    """A proxy's answer is no problem document; then the status speaks for itself."""
    status = status or int(body["status"])
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "no reason given"
    listed = body.get("errors") if isinstance(body.get("errors"), list) else []
    flaws = [one for one in listed or [] if isinstance(one, dict)]
    errors = tuple(Flaw(str(flaw.get("pointer", "")), str(flaw.get("detail", ""))) for flaw in flaws)
    extra = {name: value for name, value in body.items() if name not in _PROBLEM_MEMBERS}
    title = str(body.get("title", phrase))
    return Problem(status, str(body.get("type", "about:blank")), title, str(body.get("detail", title)), errors, extra)


def _retry_after_s(response: httpx.Response) -> float | None:
    """Seconds, from a number or a date."""
    text = response.headers.get("Retry-After", "")
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
