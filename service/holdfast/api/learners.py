"""Learners: create, list, read, change, delete."""

import hashlib
import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from holdfast.api.bodies import described
from holdfast.api.limits import MANAGEMENT_COST
from holdfast.api.schemas import NO_NUL, LearnerBody, LearnerChange, Reward
from holdfast.api.service import Service
from holdfast.api.wire import headers_of, idempotency_key
from holdfast.errors import Conflict, Forbidden, InvalidConfiguration, NotFound
from holdfast.features.limits import ID_LENGTH_MAX
from holdfast.hosting.blueprint import AnyBlueprint, canonical, draw
from holdfast.hosting.host import microseconds
from holdfast.hosting.once import Rendered, repeated
from holdfast.store import audit, idempotency, learners
from holdfast.store.audit import Actor
from holdfast.store.database import Connection
from holdfast.store.idempotency import FirstAnswer
from holdfast.store.learners import LearnerRow

LIST_MAX = 100
PREFIX = "/v1/learners"

router = APIRouter(prefix=PREFIX, tags=["learners"])


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _enter(request: Request, act: str) -> Actor:
    service = service_of(request)
    caller = await service.gate.admit(headers_of(request.scope), act, request.path_params.get("name"))
    service.limits.charge(caller.key_id, MANAGEMENT_COST)
    return caller


async def _admin(request: Request) -> Actor:
    return await _enter(request, "admin")


async def _reader(request: Request) -> Actor:
    return await _enter(request, "read")


ServiceDep = Annotated[Service, Depends(service_of)]
Admin = Depends(_admin)
Reader = Depends(_reader)
ByAdmin = Annotated[Actor, Admin]  # the same check, and who it was
ByReader = Annotated[Actor, Reader]
Description = Annotated[LearnerBody, Depends(described(LearnerBody))]
DESCRIBED = {(name,) for name in LearnerBody.model_fields} | {("reward", name) for name in Reward.model_fields}
Change = Annotated[LearnerChange, Depends(described(LearnerChange, DESCRIBED))]


@router.post(
    "",
    status_code=201,
    operation_id="create_learner",
    dependencies=[Admin],
    summary="Create a learner",
    response_model=dict[str, Any],
)
def create(by: ByAdmin, body: Description, service: ServiceDep, request: Request) -> Response:
    """The same body again answers 200, also after a change; another body under the same name is a conflict."""
    if by.learner not in (None, body.name):
        raise Forbidden("a key for one learner may not create another")
    drawn(body.spec())  # refuse what cannot be built before anything is stored
    key = idempotency_key(headers_of(request.scope))
    with service.database.write() as connection:
        answer = _created(connection, by, body) if key is None else _created_once(connection, by, body, key)
    service.forget(body.name)
    return Response(answer.body, answer.status, media_type="application/json")


def _created(connection: Connection, by: Actor, body: LearnerBody) -> Rendered:
    spec = canonical(body.spec())
    is_new = learners.create(connection, body.name, spec, microseconds())
    row = found(learners.find(connection, body.name))
    if spec not in (row.spec, row.described):
        raise Conflict("learner-exists", "there is a learner of this name with another description")
    if is_new:
        audit.note(connection, by, "learner created", body.name, microseconds())
    return Rendered(201 if is_new else 200, bytes(JSONResponse(describe(row)).body))


def _created_once(connection: Connection, by: Actor, body: LearnerBody, key: str) -> Rendered:
    """With an Idempotency-Key, the first answer again. Two with the same key at once come here one after the other."""
    name = (PREFIX, key)
    digest = hashlib.sha256(canonical({"name": body.name, **body.spec()}).encode()).digest()
    idempotency.one_at_a_time(connection)
    first = idempotency.recall_all(connection, [name]).get(name)
    if first is None:
        answer = _created(connection, by, body)
        first = FirstAnswer(digest, answer.status, answer.body)
        idempotency.remember_all(connection, {name: first}, microseconds())
    again = repeated(first, digest)
    if isinstance(again, Conflict):
        raise again
    return again


@router.get("", operation_id="list_learners", dependencies=[Reader], summary="List learners by name")
def page(
    by: ByReader,
    service: ServiceDep,
    limit: Annotated[int, Query(ge=1, le=LIST_MAX)] = LIST_MAX,
    cursor: Annotated[str, Query(max_length=ID_LENGTH_MAX, pattern=NO_NUL)] = "",
) -> dict[str, Any]:
    """`next_cursor` is null on the last page. A key for one learner sees that one."""
    with service.database.read() as connection:
        rows = learners.page(connection, cursor, limit, by.learner)
    return {"items": [describe(row) for row in rows], "next_cursor": rows[-1].name if len(rows) == limit else None}


@router.get("/{name}", operation_id="get_learner", dependencies=[Reader], summary="Read a learner")
def read(name: str, service: ServiceDep) -> dict[str, Any]:
    with service.database.read() as connection:
        return describe(found(learners.find(connection, name)))


@router.patch(
    "/{name}", operation_id="change_learner", dependencies=[Admin], summary="Pause, or change the mode or wait"
)
def change(by: ByAdmin, name: str, body: Change, service: ServiceDep) -> dict[str, Any]:
    """Everything else would break the guarantee and is refused."""
    with service.database.write() as connection:
        row = found(learners.find(connection, name, to_change=True))
        service.host.look_first(name)  # before the commit: who believes what was is refused with all its neighbours
        spec = json.loads(row.spec)
        if body.reward is not None:
            spec["reward"].update(body.reward.model_dump(exclude_unset=True))
        if body.episode_timeout_s is not None:
            if "episode_timeout_s" not in spec:
                raise InvalidConfiguration("episode_timeout_s does not apply to a learner of kind bandit")
            spec["episode_timeout_s"] = body.episode_timeout_s
        drawn(spec)
        values = body.model_dump(include={"paused", "mode"}, exclude_unset=True)
        learners.change(connection, row.id, spec=canonical(spec), **values)
        audit.note(connection, by, "learner changed", name, microseconds(), **body.model_dump(exclude_unset=True))
        return describe(found(learners.find(connection, name)))


@router.delete("/{name}", status_code=204, operation_id="delete_learner", dependencies=[Admin], summary="Delete it")
def remove(by: ByAdmin, name: str, service: ServiceDep) -> None:
    """Nobody finds it from now on, and its name is free; its log and its snapshots are removed little by little."""
    with service.database.write() as connection:
        row = found(learners.find(connection, name, to_change=True))
        service.host.look_first(name)
        learners.remove(connection, row.id)
        audit.note(connection, by, "learner deleted", name, microseconds(), position=row.head)
    service.forget(name)


def drawn(spec: dict[str, Any]) -> AnyBlueprint:
    """A learner from its description. Each number may be within its bounds, and all together beyond a float's."""
    try:
        return draw(spec)
    except ArithmeticError:
        raise InvalidConfiguration("these numbers together are too small or too large to compute with") from None


def found(row: LearnerRow | None) -> LearnerRow:
    if row is None:
        raise NotFound("learner", "no such learner")
    return row


def describe(row: LearnerRow) -> dict[str, Any]:
    spec = json.loads(row.spec)
    blueprint = draw(spec)
    floor = spec.pop("exploration_floor")
    return {
        "name": row.name,
        **spec,
        "exploration": floor or None,
        "mode": row.mode,
        "paused": row.paused,
        "position": row.head,
        "dimension": blueprint.encoder.dimension,
        "budget": blueprint.budget,
        "created_at": row.created_at / 1e6,
    }
