"""The routes that carry the traffic: decisions and rewards, single and in batches.

They are plain Starlette endpoints on typed msgspec bodies: FastAPI's way would cost more than deciding and committing.
"""

import asyncio
import hashlib
import uuid
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.bodies import decode, read_body
from holdfast.api.problems import document
from holdfast.api.schemas import DecisionBody, DecisionsBody, RewardBody, RewardsBody
from holdfast.api.service import Service
from holdfast.errors import HoldfastError, Unavailable
from holdfast.features import Candidate
from holdfast.hosting.decide import Answered, Decide, Question, check_top
from holdfast.hosting.learn import Claim, Reward, Verdict

ANSWER_WITHIN_S = 10.0

_one_decision = msgspec.json.Decoder(DecisionBody)
_many_decisions = msgspec.json.Decoder(DecisionsBody)
_one_reward = msgspec.json.Decoder(RewardBody)
_many_rewards = msgspec.json.Decoder(RewardsBody)
_encode = msgspec.json.Encoder().encode


async def decide(request: Request) -> Response:
    """POST /v1/learners/{name}/decisions"""
    name, service = request.path_params["name"], _service(request)
    await service.gate.admit(request, "decide", name)
    body = decode(_one_decision, await read_body(request))
    answered = await _ask(service, name, [body])
    return _json(_decision(answered[0], name, body.ranking), 201)


async def decide_many(request: Request) -> Response:
    """POST /v1/learners/{name}/decisions/batch"""
    name, service = request.path_params["name"], _service(request)
    await service.gate.admit(request, "decide", name)
    bodies = decode(_many_decisions, await read_body(request)).decisions
    answered = await _ask(service, name, bodies)
    answers = [_decision(answer, name, body.ranking) for answer, body in zip(answered, bodies, strict=True)]
    return _json({"decisions": answers}, 201)


async def reward(request: Request) -> Response:
    """POST /v1/learners/{name}/rewards"""
    name, service = request.path_params["name"], _service(request)
    caller = await service.gate.admit(request, "reward", name)
    body = decode(_one_reward, await read_body(request))
    verdict = (await _claim(service, name, [body], caller))[0]
    if isinstance(verdict, HoldfastError):
        raise verdict
    return _json(_verdict(verdict), 200)


async def reward_many(request: Request) -> Response:
    """POST /v1/learners/{name}/rewards/batch"""
    name, service = request.path_params["name"], _service(request)
    caller = await service.gate.admit(request, "reward", name)
    bodies = decode(_many_rewards, await read_body(request)).rewards
    verdicts = await _claim(service, name, bodies, caller)
    return _json({"rewards": [_verdict_or_problem(v, b) for v, b in zip(verdicts, bodies, strict=True)]}, 200)


async def settled(future: Any) -> Any:
    """What the writer answers, or that it took too long; it may still be done, and asking again is safe."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), ANSWER_WITHIN_S)
    except TimeoutError:
        raise Unavailable("the answer took too long; it may still be done, and asking again is safe") from None


async def _ask(service: Service, name: str, bodies: list[DecisionBody]) -> list[Answered]:
    encoder = await service.encoder(name)
    questions = []
    for body in bodies:
        check_top(body.top, len(body.actions))
        phi = encoder.encode(body.context, [Candidate(action.id, action.features) for action in body.actions])
        content = hashlib.sha256(phi.tobytes())
        content.update(_encode([[action.id for action in body.actions], body.top]))
        given = body.decision_id is not None
        decision_id = body.decision_id or _new_id()
        ids = [action.id for action in body.actions]
        questions.append(Question(decision_id, ids, phi, body.top, content.digest()[:16], given))
    answered: list[Answered] = await settled(service.host.submit(Decide(name, questions)))
    return answered


async def _claim(service: Service, name: str, bodies: list[RewardBody], caller: str) -> list[Verdict | HoldfastError]:
    claims = [Claim(b.decision_id, b.value, b.action_id, caller if b.source is None else b.source) for b in bodies]
    verdicts: list[Verdict | HoldfastError] = await settled(service.host.submit(Reward(name, claims)))
    return verdicts


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


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return verdict._asdict()


def _verdict_or_problem(verdict: Verdict | HoldfastError, body: RewardBody) -> dict[str, Any]:
    if isinstance(verdict, HoldfastError):
        return {"decision_id": body.decision_id, "problem": document(verdict)}
    return _verdict(verdict)


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _json(content: Any, status: int) -> Response:
    return Response(_encode(content), status, media_type="application/json")
