"""The routes that carry the traffic: decisions and rewards, single and in batches.

They are plain functions on typed msgspec bodies: FastAPI's way would cost more than deciding and committing.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from itertools import count, repeat
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from holdfast.api.answers import Chosen, DecisionAnswer, DecisionsAnswer, Ranked
from holdfast.api.asking import check_size, check_spelled, each_with_actions, question, questions
from holdfast.api.batches import decode_rewards
from holdfast.api.bodies import T, decode
from holdfast.api.front import Call
from holdfast.api.problems import document
from holdfast.api.schemas import DecisionBody, DecisionsBody, EventBody, EventsBody, RewardBody
from holdfast.api.vectors import glance
from holdfast.api.wire import Answer, idempotency_key
from holdfast.arrays import cuts
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.features import Encoder
from holdfast.hosting.bring import Learned, Observation, Observe
from holdfast.hosting.decide import Answered, Answers, Decide, Questions
from holdfast.hosting.learn import Claim, Reward, Verdict
from holdfast.hosting.once import Once, Rendered
from holdfast.hosting.operation import Operation
from holdfast.hosting.sessions.step import StepAnswered
from holdfast.store.audit import Actor

SCOPE_MAX = 512
# More are encoded, or told, where nobody has to wait for it.
ROWS_AT_ONCE = 500
TOLD_AT_ONCE = 10_000
NOTHING_SAID = b"{}"  # by an empty body

_one_decision = msgspec.json.Decoder(DecisionBody)
_many_decisions = msgspec.json.Decoder(DecisionsBody)
_one_reward = msgspec.json.Decoder(RewardBody)
_many_events = msgspec.json.Decoder(EventsBody)
_encode = msgspec.json.Encoder().encode


async def decide(call: Call) -> Answer:
    """POST /v1/learners/{name}/decisions"""
    caller = await call.service.gate.admit(call.headers, "decide", call.learner)
    body, digest = await read(call, _one_decision)
    await charge(call, caller, len(body.actions))
    encoder = await call.service.encoder(call.learner)
    operation, ranking = Decide(call.learner, question(encoder, body), encoder), body.ranking
    del body  # while it is at hand: later it costs as much to free as it did to read
    return await committed(call, digest, operation, lambda made: (201, _decision(made[0], call.learner, ranking)))


async def decide_many(call: Call) -> Answer:
    """POST /v1/learners/{name}/decisions/batch"""
    caller = await call.service.gate.admit(call.headers, "decide", call.learner)
    raw = await call.read()
    encoder = await call.service.encoder(call.learner)
    asked, rankings = await _read_batch(call, caller, encoder, raw)
    digest = _digest(call, raw)
    del raw  # it may be large, and this may wait

    def render(made: Answers) -> tuple[int, Any]:
        return 201, DecisionsAnswer(_decisions(made, call.learner, rankings))

    operation, is_long = Decide(call.learner, asked, encoder), len(asked.phi) > TOLD_AT_ONCE
    return await committed(call, digest, operation, render, is_long)


async def _read_batch(call: Call, caller: Actor, encoder: Encoder, raw: bytes) -> tuple[Questions, list[str]]:
    """What is asked, and how much of each ranking: at a glance, or the ordinary way."""
    glanced = glance(raw, encoder)
    if glanced is not None:
        check_size(glanced.rows, glanced.id_characters, encoder)
        await charge(call, caller, glanced.rows)
        asked = glanced.questions()
        if asked is not None:
            return asked, glanced.rankings
    batch = decode(_many_decisions, raw or NOTHING_SAID)
    bodies = each_with_actions(batch)
    rows = sum(len(one.actions) for one in bodies)
    if glanced is None:
        check_size(rows, sum(len(action.id) for one in bodies for action in one.actions), encoder)
        check_spelled(batch, encoder)
        await charge(call, caller, rows)
    ask = partial(questions, encoder, bodies, batch.actions)
    return await run_in_threadpool(ask) if rows > ROWS_AT_ONCE else ask(), [one.ranking for one in bodies]


async def reward(call: Call) -> Answer:
    """POST /v1/learners/{name}/rewards"""
    caller = await call.service.gate.admit(call.headers, "reward", call.learner)
    body, digest = await read(call, _one_reward)
    operation = Reward(call.learner, _claims([body], caller))
    await charge(call, caller, 1)

    def render(verdicts: list[Verdict | HoldfastError]) -> tuple[int, Any]:
        if isinstance(verdicts[0], HoldfastError):
            raise verdicts[0]
        return 200, verdicts[0]._asdict()

    return await committed(call, digest, operation, render)


async def reward_many(call: Call) -> Answer:
    """POST /v1/learners/{name}/rewards/batch"""
    caller = await call.service.gate.admit(call.headers, "reward", call.learner)
    raw = await call.read()
    bodies, unreadable = decode_rewards(raw or NOTHING_SAID)
    await charge(call, caller, len(bodies) + len(unreadable))

    def render(verdicts: list[Verdict | HoldfastError]) -> tuple[int, Any]:
        told = [_verdict_or_problem(v, b) for v, b in zip(verdicts, bodies, strict=True)]
        for one in unreadable:
            told.insert(one.place, {"decision_id": one.decision_id, "problem": document(one.problem)})
        return 200, {"rewards": told}

    return await committed(call, _digest(call, raw), Reward(call.learner, _claims(bodies, caller)), render)


async def observe(call: Call) -> Answer:
    """POST /v1/learners/{name}/events: complete observations from elsewhere, learned in the order given."""
    caller = await call.service.gate.admit(call.headers, "admin", call.learner)
    body, digest = await read(call, _many_events)
    events = body.events
    await charge(call, caller, sum(len(event.actions) for event in events))
    encoder = await call.service.encoder(call.learner)
    observations = [_observation(encoder, event, index, caller) for index, event in enumerate(events)]

    def render(learned: list[Learned]) -> tuple[int, Any]:
        return 200, {"events": [one._asdict() for one in learned]}

    return await committed(call, digest, Observe(call.learner, observations), render)


async def charge(call: Call, caller: Actor, rows: int) -> None:
    """Take what so many feature vectors cost from the key's share, before any is made."""
    if call.service.limits.on:
        encoder = await call.service.encoder(call.learner)
        call.service.limits.charge(caller.key_id, rows * encoder.dimension)


async def read(call: Call, decoder: "msgspec.json.Decoder[T]") -> tuple[T, bytes]:
    """The body; and its digest, by which an Idempotency-Key knows it again."""
    raw = await call.read()
    return decode(decoder, raw or NOTHING_SAID), _digest(call, raw)


def _digest(call: Call, raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest() if b"idempotency-key" in call.headers else b""


async def committed(
    call: Call, digest: bytes, operation: Operation, render: Callable[[Any], tuple[int, Any]], is_long: bool = False
) -> Answer:
    """Submit, wait for the commit, answer; with an Idempotency-Key, the first answer again."""

    def rendered(answer: Any) -> Rendered:
        status, content = render(answer)
        return Rendered(status, _encode(content))

    key = idempotency_key(call.headers)
    if key is not None:
        first: Rendered = await call.service.ask(Once(operation, _scope(call.path), key, digest, rendered))
        return Answer(*first)
    made = await call.service.ask(operation)
    return Answer(*(await run_in_threadpool(rendered, made) if is_long else rendered(made)))


def _scope(path: str) -> str:
    """What an Idempotency-Key is unique in."""
    return path if len(path) <= SCOPE_MAX else hashlib.sha256(path.encode()).hexdigest()


def _claims(bodies: list[RewardBody], caller: Actor) -> list[Claim]:
    return [Claim(b.decision_id, b.value, b.action_id, caller.name if b.source is None else b.source) for b in bodies]


def _observation(encoder: Encoder, event: EventBody, index: int, caller: Actor) -> Observation:
    try:
        phi = encoder.encode(event.context, event.actions)
    except InvalidInput as problem:
        raise problem.within(f"/events/{index}") from None
    chosen = next((i for i, action in enumerate(event.actions) if action.id == event.action_id), None)
    if chosen is None:
        raise InvalidInput(f"/events/{index}/action_id", "must be the id of one of the actions")
    source = caller.name if event.source is None else event.source
    shown = phi[chosen].copy()  # and no more: it may have to wait
    return Observation(shown, event.action_id, event.value, event.probability, source)


def _decision(answered: Answered, learner: str, asked: str) -> DecisionAnswer:
    chosen, ranked = ranked_as_asked(answered, asked)
    return DecisionAnswer(answered.decision_id, learner, chosen, answered.position, ranked)


def _decisions(made: Answers, learner: str, asked: list[str]) -> list[DecisionAnswer]:
    """Many complete ones at once; any others one by one."""
    if isinstance(made, list) or set(asked) != {"complete"}:
        return [_decision(one, learner, how) for one, how in zip(made, asked, strict=True)]
    ranked = list(map(Ranked, *made.ranked()))
    each_ranked = [ranked[start:end] for start, end in cuts(made.decisions.counts)]
    chosen = [Chosen(ids[index], index) for ids, index in zip(made.ids, made.decisions.chosen, strict=True)]
    return list(map(DecisionAnswer, made.decision_ids, repeat(learner), chosen, count(made.first), each_ranked))


def ranked_as_asked(answered: Answered | StepAnswered, asked: str) -> tuple[Chosen, list[Ranked]]:
    """The chosen action, and all or only that one ranked."""
    ids, (chosen, order, mean, bonus, score, probability) = answered.ids, answered.ranking
    if asked == "complete":
        ranked = list(map(Ranked, [ids[index] for index in order], score, mean, bonus, probability))
    else:
        place = order.index(chosen)
        ranked = [Ranked(ids[chosen], score[place], mean[place], bonus[place], probability[place])]
    return Chosen(ids[chosen], chosen), ranked


def _verdict_or_problem(verdict: Verdict | HoldfastError, body: RewardBody) -> dict[str, Any]:
    if isinstance(verdict, HoldfastError):
        return {"decision_id": body.decision_id, "problem": document(verdict)}
    return verdict._asdict()
