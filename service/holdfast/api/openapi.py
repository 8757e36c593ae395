"""The OpenAPI document: what FastAPI knows, and the bodies and answers it does not, from the types that decode them."""

from typing import Any, NamedTuple

from fastapi import FastAPI
from msgspec import Struct
from msgspec.structs import fields
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from holdfast.api import answers, bodies, exchange, schemas, wire
from holdfast.api.limits import MANAGEMENT_COST
from holdfast.api.refusals import ERRORS_MAX
from holdfast.api.request_ids import LENGTH_MAX
from holdfast.features import limits
from holdfast.hosting.sessions import step

REF = "#/components/schemas/"
PROBLEM = {"$ref": "#/components/responses/Problem"}

DESCRIPTION = f"""An online decision service that keeps learning well when somebody lies to it.

**Retries are safe**: a `decision_id` given by the caller is an idempotency key, the traffic's routes take an
`Idempotency-Key` of 1 to {limits.ID_LENGTH_MAX} characters, and an answer means that it is durable.

**Limits**, beyond which a request is refused with 413 or 422 and changes nothing:
bodies of {wire.BODY_BYTES_MAX:,} bytes, uncompressed; nesting {bodies.DEPTH_MAX} deep;
{bodies.VALUES_MAX:,} values, {bodies.NAMES_MAX:,} names and {bodies.CONTAINERS_MAX:,} objects and arrays in one body,
of a learner's description {bodies.DESCRIPTION_NAMES_MAX:,} and {bodies.DESCRIPTION_CONTAINERS_MAX:,};
finite numbers within ±{limits.NUMBER_MAX:g}; {limits.CANDIDATES_MAX:,} actions in a decision;
{schemas.BATCH_MAX:,} items in a batch; {bodies.ACTIONS_MAX:,} actions of all its decisions,
{bodies.ID_CHARACTERS_MAX:,} characters in their ids and {limits.NUMBERS_PER_BATCH_MAX:,} numbers in their encoded
features; of actions that its decisions share and that are not plain vectors, {bodies.SPELLED_BYTES_MAX:,} bytes,
counted for each decision;
ids of 1 to {limits.ID_LENGTH_MAX} characters, without NUL;
vectors of {limits.VECTOR_LENGTH_MAX:,} numbers; encoded dimension {limits.DIMENSION_MAX:,};
of JSON features, {limits.TOKENS_MAX:,} in one object, names of {limits.NAME_LENGTH_MAX} characters, texts of
{limits.TEXT_LENGTH_MAX:,}, {limits.INTERACTIONS_MAX} interactions, {limits.PAIRS_MAX:,} terms per interaction and
action, {limits.PAIRS_PER_REQUEST_MAX:,} terms in one decision; {limits.STATES_MAX:,} states of a table.
Booleans and texts are not numbers, unknown and repeated names are refused.
A request may have {exchange.HEADERS_MAX} headers and {exchange.HEAD_BYTES_MAX:,} bytes before its body (431), and
{exchange.WAITING_MAX} may wait on one connection behind the one that is answered (400); then it is closed,
and what was not answered before may have been done: asking again is safe.

**Rate limit**, where the operator has set one: each key has a share that fills at a steady rate. A decision costs its
number of actions times the learner's `dimension`, a reward the `dimension`, any other request {MANAGEMENT_COST:g}; a
batch costs what its items do. A spent share answers 429 with `Retry-After`, and nothing has happened. A request that
costs more than a full share holds is answered when the share is full, and its debt is waited for afterwards.

**Errors** are `application/problem+json` (RFC 9457). They name the place and the rule, at most {ERRORS_MAX} of them,
and never repeat what was sent.

Every answer has the header `X-Request-Id`: the request's own, if it sent one of at most {LENGTH_MAX} printable ASCII
characters, or a new one. Problems repeat it as `request_id`, and so does the service's log.
"""


class HotRoute(NamedTuple):
    """How one hot route is described."""

    operation: str
    summary: str
    description: str
    body: type[Struct]
    status: int
    answer: type[Struct]
    example: dict[str, Any]
    answer_example: dict[str, Any]


_ASKED = {
    "context": [0.1, 0.2],
    "actions": [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}],
    "decision_id": "d1",
    "top": 1,
}
_DECIDED = {
    "decision_id": "d1",
    "learner": "home-page",
    "action": {"id": "b", "index": 1},
    "position": 4711,
    "ranking": [
        {"id": "b", "score": 0.81, "mean": 0.55, "bonus": 0.26, "probability": 1.0},
        {"id": "a", "score": 0.52, "mean": 0.5, "bonus": 0.02, "probability": 0.0},
    ],
}
_OBSERVED = {
    "context": [0.1, 0.2],
    "actions": [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}],
    "action_id": "b",
    "value": 1.0,
    "probability": 0.5,
}
_SAID = {"decision_id": "d1", "value": 1.0, "source": "checkout"}
_LEARNED = {"decision_id": "d1", "outcome": "learned", "weight": 0.37, "position": 4712}
_STEP = {
    "state": [0.1, 0.2],
    "actions": [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}],
    "step": 1,
}
_STEPPED = {
    "episode_id": "e1",
    "step": 1,
    "action": {"id": "b", "index": 1},
    "position": 12,
    "ranking": [
        {"id": "b", "score": 1.0, "mean": 0.4, "bonus": 0.7, "probability": 1.0},
        {"id": "a", "score": 0.8, "mean": 0.3, "bonus": 0.5, "probability": 0.0},
    ],
}
_STEP_LEARNED = {"episode_id": "e1", "step": 1, "outcome": "pending", "weight": None, "position": 13}
_UNKNOWN = {"type": "decision-not-found", "title": "Not found", "status": 404, "detail": "no such decision"}

HOT_ROUTES = {
    "/v1/learners/{name}/decisions": HotRoute(
        "decide",
        "Decide between actions",
        f"1 to {limits.CANDIDATES_MAX:,} actions with different ids. A `decision_id` of the caller's own with the "
        "same content gets the first answer again, with another content 409. The action and the best of the others, "
        "`top` in all and no more than there are, are shown: each can be rewarded.",
        schemas.DecisionBody, 201, answers.DecisionAnswer, _ASKED, _DECIDED,
    ),
    "/v1/learners/{name}/decisions/batch": HotRoute(
        "decide_many",
        "Decide several times",
        f"1 to {schemas.BATCH_MAX:,} decisions; all or nothing. `actions` beside them are those of every decision that "
        "has none of its own. The `errors` of a 409 for a `decision_id` that was used with another content point at "
        "the first such.",
        schemas.DecisionsBody, 201, answers.DecisionsAnswer,
        {"actions": _ASKED["actions"], "decisions": [_ASKED, {"context": [0.3, 0.4]}]}, {"decisions": [_DECIDED]},
    ),
    "/v1/learners/{name}/rewards": HotRoute(
        "reward",
        "Say what a decision was worth",
        f"A finite number within ±{limits.NUMBER_MAX:g}, and within the learner's range unless it clips. "
        "Where `aggregation` is `first`, the same value again is a `duplicate` and another is 409; elsewhere each "
        "counts, so send an `Idempotency-Key` with what you may have to repeat. After the wait it is `late`.",
        schemas.RewardBody, 200, answers.RewardAnswer, _SAID, _LEARNED,
    ),
    "/v1/learners/{name}/rewards/batch": HotRoute(
        "reward_many",
        "Say what several decisions were worth",
        f"1 to {schemas.BATCH_MAX:,} rewards, learned in the order given; a bad one, also of a wrong type or shape, "
        "carries its problem with pointers into the item, the others count. Only what is wrong with the body as a "
        "whole refuses it.",
        schemas.RewardsBody, 200, answers.RewardsAnswer,
        {"rewards": [_SAID, {"decision_id": "never", "value": 0.0}]},
        {"rewards": [_LEARNED, {"decision_id": "never", "problem": _UNKNOWN}]},
    ),
    "/v1/learners/{name}/events": HotRoute(
        "observe",
        "Learn from old logs",
        f"1 to {schemas.BATCH_MAX:,} complete observations, learned in the order given; all or nothing.",
        schemas.EventsBody, 200, answers.EventsAnswer, {"events": [_OBSERVED]},
        {"events": [{"outcome": "learned", "weight": 0.37, "position": 1}]},
    ),
    "/v1/learners/{name}/episodes": HotRoute(
        "begin_episode",
        "Begin an episode",
        "Of a learner of kind `mdp`; an episode is one session of up to `episode_length` steps. The same `episode_id` "
        "again is the same episode. What is known of it after `episode_timeout_s` is learned then: steps whose reward "
        "and next state are known; one whose reward never came is learned with `reward.default` if that is a number, "
        "and left out if it is null.",
        schemas.EpisodeBody, 201, answers.EpisodeAnswer, {"episode_id": "e1"},
        {"episode_id": "e1", "episode_length": 5, "position": 11},
    ),
    "/v1/learners/{name}/episodes/{episode_id}/steps": HotRoute(
        "take_step",
        "Decide the next step of an episode",
        "Steps count from 1. With `step`, the same content again gets the first answer again; another content, or a "
        "step that does not come next, is 409; without it only an `Idempotency-Key` makes a repeat safe. A step beyond "
        "`episode_length`, or of an episode that is over, is 409. `reward` is what the step before earned, if it is "
        f"known by now. All actions' features are kept, {step.STEP_NUMBERS_MAX:,} numbers a step at most and "
        f"{step.EPISODE_NUMBERS_MAX:,} in an episode of full length.",
        schemas.StepBody, 201, answers.StepAnswer, _STEP, _STEPPED,
    ),
    "/v1/learners/{name}/episodes/{episode_id}/rewards": HotRoute(
        "reward_step",
        "Say what a step was worth",
        "In any order. The rewards of an episode add up to `reward.max` at most. It is learned as a whole, when it is "
        "finished or has all its steps (where they share a model, `stationary`: only when it is finished), and all its "
        "rewards are there: until then a reward is `pending`; the one that completes the episode is `learned`. The "
        "same value again is a `duplicate`, another is 409; after the episode was learned or its time ran out it "
        "is `late`, and told to a frozen learner it is `ignored`.",
        schemas.StepRewardBody, 200, answers.StepRewardAnswer, {"step": 1, "value": 0.2, "source": "player"},
        _STEP_LEARNED,
    ),
    "/v1/learners/{name}/episodes/{episode_id}/finish": HotRoute(
        "finish_episode",
        "Finish an episode",
        "No more steps; rewards may still come. Finished before its last step, nothing is earned after it, and each "
        "step that was not taken counts as a reward of 0. Since nothing follows, `state` is not learned from; only "
        "where steps share a model (`stationary`) and all were taken does the last one need what could be chosen "
        "next: say it in `actions`, or the last step is left out. Again, it changes nothing.",
        schemas.FinishBody, 200, answers.FinishAnswer, {"state": [0.3, 0.1]},
        {"episode_id": "e1", "steps": 1, "outcome": "pending", "position": 14},
    ),
}  # fmt: skip

DESCRIBED: dict[tuple[str, str], type[BaseModel]] = {
    ("/v1/learners", "post"): schemas.LearnerBody,
    ("/v1/learners/{name}", "patch"): schemas.LearnerChange,
}


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document, the same for the same code."""
    app.description = DESCRIPTION
    described = app.openapi()
    paths, components = described["paths"], described.setdefault("components", {})
    for path, route in HOT_ROUTES.items():
        paths.setdefault(path, {})["post"] = _operation(path, route)
    for (path, method), model in DESCRIBED.items():
        paths[path][method]["requestBody"] = _body(model, schemas.EXAMPLES[model])
    file = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    paths["/v1/learners/{name}/state"]["put"]["requestBody"] = {"required": True, "content": file}
    paths["/v1/learners/{name}/state"]["get"]["responses"]["200"]["content"] = file
    for path, operations in paths.items():
        for operation in operations.values():
            _refusals(operation, path)
    components["schemas"] = _schemas()
    components["responses"] = {
        "Problem": {
            "description": "Refused, and nothing changed: RFC 9457.",
            "content": {"application/problem+json": {"schema": {"$ref": f"{REF}Problem"}, "example": _UNKNOWN}},
        }
    }
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "hf_<id>_<secret>"}}
    described["paths"] = dict(sorted(paths.items()))
    return described


def _schemas() -> dict[str, Any]:
    hot = [t for route in HOT_ROUTES.values() for t in (route.body, route.answer)]
    _, described = models_json_schema(
        [(model, "validation") for model in DESCRIBED.values()], ref_template=REF + "{model}"
    )
    return dict(sorted({**answers.described(*hot, answers.Problem), **described["$defs"]}.items()))


def _operation(path: str, route: HotRoute) -> dict[str, Any]:
    return {
        "tags": ["traffic"],
        "summary": route.summary,
        "description": route.description,
        "operationId": route.operation,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "title": title}}
            for name, title in (("name", "Name"), ("episode_id", "Episode Id"))
            if f"{{{name}}}" in path
        ],
        "requestBody": _body(route.body, route.example),
        "responses": {
            str(route.status): {
                "description": "Done, and durable",
                "content": {"application/json": {"schema": _ref(route.answer), "example": route.answer_example}},
            }
        },
    }


def _body(model: type[Struct] | type[BaseModel], example: dict[str, Any]) -> dict[str, Any]:
    """An empty body says as much as an empty object, where nothing has to be said."""
    needed = issubclass(model, BaseModel) or any(field.required for field in fields(model))
    return {"required": needed, "content": {"application/json": {"schema": _ref(model), "example": example}}}


def _ref(model: type[Struct] | type[BaseModel]) -> dict[str, str]:
    return {"$ref": REF + model.__name__}


def _refusals(operation: dict[str, Any], path: str) -> None:
    """Every way a route can refuse."""
    responses = operation["responses"]
    responses.pop("422", None)
    if not path.startswith("/v1/"):
        return
    operation["security"] = [{"key": []}]
    statuses = ["401", "403", "422", "429", "503"]
    if "{name}" in path:
        statuses.append("404")
    if "requestBody" in operation:
        statuses += ["409", "413"]
    for status in sorted(statuses):
        responses[status] = PROBLEM
