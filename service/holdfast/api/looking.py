"""Looking inside: diagnostics, the state as a file, the log, one decision."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from holdfast.api.learners import Admin, ByAdmin, Reader, ServiceDep, found
from holdfast.api.schemas import is_id
from holdfast.api.service import Service
from holdfast.api.wire import headers_of, read_body
from holdfast.errors import NotFound, NotYet
from holdfast.hosting.bring import Import
from holdfast.hosting.live import WEIGHT_EDGES
from holdfast.hosting.look import Export, Look
from holdfast.hosting.recent import recent_actions, recent_steps
from holdfast.hosting.sessions.tell import tell as tell_of_sessions
from holdfast.hosting.sessions.tell import tell_episode
from holdfast.hosting.tell import tell, tell_decision
from holdfast.store import learners, log
from holdfast.store.learners import LearnerRow

LOG_PAGE_MAX = 500
LOG_PAGE_BYTES_MAX = 4 * 1024 * 1024  # of events as they are stored; one event at least
EPISODE_BYTES_MAX = 4 * 1024 * 1024  # of features in the answer to one episode
SAID_MAX = 500  # events about one decision, the first of them
STATE_BYTES_MAX = 64 * 1024 * 1024  # the largest of a linear learner has half of that
POSITION_MAX = 2**63 - 1  # what both databases can count to
CURSOR_PATTERN = "^[0-9]{0,18}$"  # a position, as `next_cursor` says it

router = APIRouter(prefix="/v1/learners/{name}", tags=["looking inside"])


@router.get("/diagnostics", operation_id="get_diagnostics", dependencies=[Reader], summary="How the learner is doing")
async def diagnostics(name: str, service: ServiceDep) -> dict[str, Any]:
    """Numbers are unrounded, at one position of the log; `pending_decisions` and `recent_actions` are read from the
    database a moment later.

    `rewards.duplicate` counts repeats answered by this process since it took the learner up: repeats are not in the
    log, so a restart begins at 0 and replicas count their own. All other numbers are a fold of the log, the same after
    a restart. `pending_decisions` wait for their reward. `recent_actions` are the last actions shown (at most 20, from
    the last 50 decisions among the last 1,000 events), each with the mean and the bonus it had when it was last shown.
    `alpha` is null where nothing is insured. `gauge` is null: the estimate of the corruption seen is not there yet.
    """
    blueprint = await service.blueprint(name)
    sight = await service.ask(Look(name))
    pending, recent = await run_in_threadpool(_from_the_log, service, name)
    weighed = sum(sight.tally.weights)
    return {
        "position": sight.position,
        "dimension": blueprint.encoder.dimension,
        **sight.numbers,
        "weights": {
            "edges": list(WEIGHT_EDGES),
            "counts": list(sight.tally.weights),
            "down_weighted_share": 1.0 - sight.tally.weights[-1] / weighed if weighed else 0.0,
        },
        "rewards": sight.rewards,
        "decisions": sight.tally.decisions,
        "pending_decisions": pending,
        "recent_actions": recent,
        "gauge": None,
    }


def _from_the_log(service: Service, name: str) -> tuple[int, list[dict[str, Any]]]:
    """Off the writer's thread: counting what waits may take the database a while."""
    with service.database.read() as connection:
        row = found(learners.find(connection, name))
        recent = recent_steps if _is_of_sessions(row) else recent_actions
        return log.count_waiting(connection, row.id), recent(connection, row.id)


@router.get("/state", operation_id="export_state", dependencies=[Reader], summary="The state as a file")
async def export(name: str, service: ServiceDep) -> Response:
    """Versioned and checksummed; the same position gives the same bytes."""
    position, state = await service.ask(Export(name))
    return Response(state, media_type="application/octet-stream", headers={"Holdfast-Position": str(position)})


@router.put("/state", operation_id="import_state", dependencies=[Admin], summary="Import a state into an empty learner")
async def bring(by: ByAdmin, name: str, request: Request, service: ServiceDep) -> dict[str, int]:
    """A file of a learner of the same shape; refused if it is damaged, of another version, or if there is a history."""
    state = await read_body(headers_of(request.scope), request.receive, STATE_BYTES_MAX)
    return {"position": await service.ask(Import(name, state, by))}


@router.post("/retractions", operation_id="retract", dependencies=[Admin], include_in_schema=False)
def retract(name: str, service: ServiceDep) -> None:
    """The learner as if some rewards had never come."""
    with service.database.read() as connection:
        found(learners.find(connection, name))
    raise NotYet("retractions are not implemented yet")


@router.get("/log", operation_id="read_log", dependencies=[Reader], summary="The events, in order")
def read_log(
    name: str,
    service: ServiceDep,
    after: Annotated[int, Query(ge=0, le=POSITION_MAX)] = 0,
    limit: Annotated[int, Query(ge=1, le=LOG_PAGE_MAX)] = 100,
    cursor: Annotated[str, Query(pattern=CURSOR_PATTERN)] = "",
) -> dict[str, Any]:
    """Enough to fold the state again outside the service: the features of what was shown, and every reward learned.

    The events behind the position `after`, or behind `cursor`, if it is given: the `next_cursor` of the page before.
    Events of sessions are large, and a page of them may hold fewer than `limit`; `next_cursor` is null at the end.
    """
    with service.database.read() as connection:
        row = found(learners.find(connection, name))
        events = log.events_after(connection, row.id, int(cursor or after), limit, LOG_PAGE_BYTES_MAX)
    in_words = tell_of_sessions if _is_of_sessions(row) else tell
    there_is_more = bool(events) and events[-1].position < row.head
    return {
        "items": [in_words(event) for event in events],
        "next_cursor": str(events[-1].position) if there_is_more else None,
    }


def _is_of_sessions(row: LearnerRow) -> bool:
    return bool(json.loads(row.spec).get("kind") == "mdp")


@router.get("/episodes/{episode_id:path}", operation_id="get_episode", dependencies=[Reader], summary="One episode")
def episode(name: str, episode_id: str, service: ServiceDep) -> dict[str, Any]:
    """Its steps and their rewards, in the order of the log, and what became of it: `learned` is null while it is open,
    and says which steps were learned, with which rewards (of the episode's [0, 1]) and weights.

    Steps come with the features of their candidates as long as those of all of them are small; the log has them.
    """
    with service.database.read() as connection:
        row = found(learners.find(connection, name))
        start = log.event_named(connection, row.id, f"e/{episode_id}") if is_id(episode_id) else None
        if start is None:
            raise NotFound("episode", "no such episode")
        said = log.events_about(connection, row.id, [start.position])[start.position]
    told = tell_episode(start, said)
    if sum(len(event.payload) for event in said) > EPISODE_BYTES_MAX:
        for one in told["steps"]:
            del one["phi"]
    return told


@router.get("/decisions/{decision_id:path}", operation_id="get_decision", dependencies=[Reader], summary="One decision")
def decision(name: str, decision_id: str, service: ServiceDep) -> dict[str, Any]:
    """The decision, its rewards, and what became of each."""
    with service.database.read() as connection:
        row = found(learners.find(connection, name))
        event = None if "\0" in decision_id else log.event_named(connection, row.id, f"d/{decision_id}")
        if event is None:
            raise NotFound("decision", "no such decision")
        said = log.events_about(connection, row.id, [event.position])[event.position]
    return tell_decision(event, said[:SAID_MAX])
