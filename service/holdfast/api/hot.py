"""The routes that carry the traffic: decisions and rewards, single and in batches.

They are plain Starlette endpoints on typed msgspec bodies: FastAPI's way would cost more than deciding and committing.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.bodies import decode, read_body
from holdfast.api.problems import document
from holdfast.api.schemas import DecisionBody, DecisionsBody, EventBody, EventsBody, RewardBody, RewardsBody
from holdfast.api.service import Service
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.features import Candidate, Encoder
from holdfast.features.limits import ID_LENGTH_MAX
from holdfast.hosting.bring import Observation, Observe
from holdfast.hosting.decide import Answered, Decide, Question, check_top
from holdfast.hosting.host import Operation
from holdfast.hosting.learn import Claim, Reward, Verdict
from holdfast.hosting.once import Once, Rendered

SCOPE_MAX = 512

_one_decision = msgspec.json.Decoder(DecisionBody)
_many_decisions = msgspec.json.Decoder(DecisionsBody)
_one_reward = msgspec.json.Decoder(RewardBody)
_many_rewards = msgspec.json.Decoder(RewardsBody)
_many_events = msgspec.json.Decoder(EventsBody)
_encode = msgspec.json.Encoder().encode


async def decide(request: Request) -> Response:
    """POST /v1/learners/{name}/decisions"""
    name, service, _ = await _enter(request, "decide")
    raw = await read_body(request)
    body = decode(_one_decision, raw)
    operation = Decide(name, await _questions(service, name, [body]))
    return await _answer(request, raw, operation, lambda made: (201, _decision(made[0], name, body.ranking)))


async def decide_many(request: Request) -> Response:
    """POST /v1/learners/{name}/decisions/batch"""
    name, service, _ = await _enter(request, "decide")
    raw = await read_body(request)
    bodies = decode(_many_decisions, raw).decisions
    operation = Decide(name, await _questions(service, name, bodies, batch=True))

    def render(made: list[Answered]) -> tuple[int, Any]:
        answers = [_decision(answer, name, body.ranking) for answer, body in zip(made, bodies, strict=True)]
        return 201, {"decisions": answers}

    return await _answer(request, raw, operation, render)


async def reward(request: Request) -> Response:
    """POST /v1/learners/{name}/rewards"""
    name, _, caller = await _enter(request, "reward")
    raw = await read_body(request)
    operation = Reward(name, _claims([decode(_one_reward, raw)], caller))

    def render(verdicts: list[Verdict | HoldfastError]) -> tuple[int, Any]:
        if isinstance(verdicts[0], HoldfastError):
            raise verdicts[0]
        return 200, verdicts[0]._asdict()

    return await _answer(request, raw, operation, render)


async def reward_many(request: Request) -> Response:
    """POST /v1/learners/{name}/rewards/batch"""
    name, _, caller = await _enter(request, "reward")
    raw = await read_body(request)
    bodies = decode(_many_rewards, raw).rewards

    def render(verdicts: list[Verdict | HoldfastError]) -> tuple[int, Any]:
        return 200, {"rewards": [_verdict_or_problem(v, b) for v, b in zip(verdicts, bodies, strict=True)]}

    return await _answer(request, raw, Reward(name, _claims(bodies, caller)), render)


async def observe(request: Request) -> Response:
    """POST /v1/learners/{name}/events: complete observations from elsewhere, learned in the order given."""
    name, service, caller = await _enter(request, "admin")
    raw = await read_body(request)
    events = decode(_many_events, raw).events
    encoder = await service.encoder(name)
    observations = [_observation(encoder, event, index, caller) for index, event in enumerate(events)]
    return await _answer(
        request, raw, Observe(name, observations), lambda all_: (200, {"events": [one._asdict() for one in all_]})
    )


async def _enter(request: Request, act: str) -> tuple[str, Service, str]:
    """The learner, the service and the caller's name, if the caller may do this."""
    name: str = request.path_params["name"]
    service: Service = request.app.state.service
    return name, service, await service.gate.admit(request, act, name)


async def _answer(
    request: Request, raw: bytes, operation: Operation, render: Callable[[Any], tuple[int, Any]]
) -> Response:
    """Submit, wait for the commit, answer; with an Idempotency-Key, the first answer again."""

    def rendered(answer: Any) -> Rendered:
        status, content = render(answer)
        return Rendered(status, _encode(content))

    service: Service = request.app.state.service
    key = request.headers.get("idempotency-key")
    if key is None:
        answer = rendered(await service.ask(operation))
    else:
        if not 1 <= len(key) <= ID_LENGTH_MAX:
            raise InvalidInput("", f"an Idempotency-Key has 1 to {ID_LENGTH_MAX} characters")
        digest = hashlib.sha256(raw).digest()
        once = Once(operation, request.url.path[:SCOPE_MAX], key, digest, rendered)
        answer = await service.ask(once)
    return Response(answer.body, answer.status, media_type="application/json")


async def _questions(service: Service, name: str, bodies: list[DecisionBody], batch: bool = False) -> list[Question]:
    encoder = await service.encoder(name)
    return [_question(encoder, body, f"/decisions/{i}" if batch else "") for i, body in enumerate(bodies)]


def _question(encoder: Encoder, body: DecisionBody, place: str = "") -> Question:
    ids = [action.id for action in body.actions]
    with _placed(place):
        check_top(body.top, len(body.actions))
        phi = encoder.encode(body.context, [Candidate(action.id, action.features) for action in body.actions])
    content = hashlib.sha256(phi.tobytes())
    content.update(_encode([ids, body.top]))
    given = body.decision_id is not None
    return Question(body.decision_id or _new_id(), ids, phi, body.top, content.digest()[:16], given)


def _claims(bodies: list[RewardBody], caller: str) -> list[Claim]:
    return [Claim(b.decision_id, b.value, b.action_id, caller if b.source is None else b.source) for b in bodies]


def _observation(encoder: Encoder, event: EventBody, index: int, caller: str) -> Observation:
    with _placed(f"/events/{index}"):
        phi = encoder.encode(event.context, [Candidate(action.id, action.features) for action in event.actions])
    chosen = next((i for i, action in enumerate(event.actions) if action.id == event.action_id), None)
    if chosen is None:
        raise InvalidInput(f"/events/{index}/action_id", "must be the id of one of the actions")
    source = caller if event.source is None else event.source
    return Observation(phi[chosen], event.action_id, event.value, event.probability, source)


@contextmanager
def _placed(place: str) -> Iterator[None]:
    """Refusals name their place in the whole body."""
    try:
        yield
    except InvalidInput as problem:
        raise InvalidInput(place + problem.pointer, problem.rule) from None


def _new_id() -> str:
    return uuid.uuid4().hex


def _decision(answered: Answered, learner: str, ranking: str) -> dict[str, Any]:
    decision, ids = answered.decision, answered.ids
    order = decision.order.tolist() if ranking == "complete" else [decision.chosen]
    score, mean, bonus = decision.score.tolist(), decision.mean.tolist(), decision.bonus.tolist()
    probability = decision.probability.tolist()
    return {
        "decision_id": answered.decision_id,
        "learner": learner,
        "action": {"id": ids[decision.chosen], "index": decision.chosen},
        "position": answered.position,
        "ranking": [
            {"id": ids[i], "score": score[i], "mean": mean[i], "bonus": bonus[i], "probability": probability[i]}
            for i in order
        ],
    }


def _verdict_or_problem(verdict: Verdict | HoldfastError, body: RewardBody) -> dict[str, Any]:
    if isinstance(verdict, HoldfastError):
        return {"decision_id": body.decision_id, "problem": document(verdict)}
    return verdict._asdict()
