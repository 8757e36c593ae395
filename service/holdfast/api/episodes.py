"""The routes of sessions: begin an episode, take a step, say what one was worth, finish. As hot as `hot`."""

import hashlib
from typing import Any

import msgspec

from holdfast.api.answers import StepAnswer
from holdfast.api.front import Call
from holdfast.api.hot import charge, committed, ranked_as_asked, read
from holdfast.api.schemas import ActionBody, EpisodeBody, FinishBody, StepBody, StepRewardBody, is_id
from holdfast.api.wire import Answer
from holdfast.arrays import Array
from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.hosting.blueprint import SessionBlueprint
from holdfast.hosting.ids import new_id
from holdfast.hosting.sessions.close import Finish, Finished
from holdfast.hosting.sessions.episode import Begin, Begun
from holdfast.hosting.sessions.reward import RewardStep, StepVerdict
from holdfast.hosting.sessions.step import Step, StepAnswered, StepQuestion, check_size
from holdfast.store.audit import Actor

_episode = msgspec.json.Decoder(EpisodeBody)
_step = msgspec.json.Decoder(StepBody)
_reward = msgspec.json.Decoder(StepRewardBody)
_finish = msgspec.json.Decoder(FinishBody)
_encode = msgspec.json.Encoder().encode


async def begin(call: Call) -> Answer:
    """POST /v1/learners/{name}/episodes"""
    caller = await call.service.gate.admit(call.headers, "decide", call.learner)
    body, digest = await read(call, _episode)
    given = body.episode_id
    await charge(call, caller, 1)

    def render(begun: Begun) -> tuple[int, Any]:
        return 201, begun._asdict()

    return await committed(call, digest, Begin(call.learner, given or new_id(), given is not None), render)


async def step(call: Call) -> Answer:
    """POST /v1/learners/{name}/episodes/{episode_id}/steps"""
    caller = await _admit(call, "decide")
    body, digest = await read(call, _step)
    await charge(call, caller, len(body.actions))
    operation = Step(call.learner, await _question(call, body, caller))

    def render(made: StepAnswered) -> tuple[int, Any]:
        chosen, ranked = ranked_as_asked(made, body.ranking)
        return 201, StepAnswer(made.episode_id, made.step, chosen, made.position, ranked)

    return await committed(call, digest, operation, render)


async def reward(call: Call) -> Answer:
    """POST /v1/learners/{name}/episodes/{episode_id}/rewards"""
    caller = await _admit(call, "reward")
    body, digest = await read(call, _reward)
    await charge(call, caller, 1)
    operation = RewardStep(call.learner, call.episode, body.step, body.value, _source(body.source, caller))

    def render(verdict: StepVerdict) -> tuple[int, Any]:
        return 200, verdict._asdict()

    return await committed(call, digest, operation, render)


async def finish(call: Call) -> Answer:
    """POST /v1/learners/{name}/episodes/{episode_id}/finish"""
    caller = await _admit(call, "decide")
    body, digest = await read(call, _finish)
    await charge(call, caller, len(body.actions or [()]))
    following = None if body.actions is None else _encoded(await _blueprint(call), body.state, body.actions)

    def render(finished: Finished) -> tuple[int, Any]:
        return 200, finished._asdict()

    return await committed(call, digest, Finish(call.learner, call.episode, following), render)


async def _admit(call: Call, act: str) -> Actor:
    caller = await call.service.gate.admit(call.headers, act, call.learner)
    if not is_id(call.episode):
        raise NotFound("episode", "no such episode")  # without asking the database, which may not take such a text
    return caller


async def _blueprint(call: Call) -> SessionBlueprint:
    blueprint = await call.service.blueprint(call.learner)
    if not isinstance(blueprint, SessionBlueprint):
        raise Conflict("other-kind", "a learner of kind bandit does not take this")
    return blueprint


def _encoded(blueprint: SessionBlueprint, state: Any, actions: list[ActionBody]) -> Array:
    """One row for each action. What is wrong with the state is told of `/state`: encoders know it as the context."""
    check_size(len(actions), blueprint.encoder.dimension, blueprint.mdp.length)
    try:
        return blueprint.encoder.encode(state, actions)
    except InvalidInput as problem:
        if not problem.pointer.startswith("/context"):
            raise
        raise InvalidInput("/state" + problem.pointer.removeprefix("/context"), problem.rule) from None


async def _question(call: Call, body: StepBody, caller: Actor) -> StepQuestion:
    phi = _encoded(await _blueprint(call), body.state, body.actions)
    ids = [action.id for action in body.actions]
    content = hashlib.sha256(phi.tobytes())
    content.update(_encode([ids, body.reward]))
    source = _source(body.source, caller)
    return StepQuestion(call.episode, ids, phi, body.reward, source, body.step, content.digest()[:16])


def _source(said: str | None, caller: Actor) -> str:
    return caller.name if said is None else said
