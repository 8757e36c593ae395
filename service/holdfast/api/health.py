"""Whether the process lives, and whether it is ready to serve. Neither waits for a thread that others may hold."""

import asyncio

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool

from holdfast.api.learners import ServiceDep
from holdfast.api.metrics import Metrics
from holdfast.api.service import Service

READY_WITHIN_S = 1.0

router = APIRouter(tags=["health"])


@router.get("/health/live", operation_id="is_live", summary="The process answers")
async def live() -> dict[str, str]:
    return {"status": "live"}


@router.get("/health/ready", operation_id="is_ready", summary="Migrated, recovered, and the database answers")
async def ready(service: ServiceDep, response: Response) -> dict[str, str]:
    if service.host.lives() and await _answers(service):
        return {"status": "ready"}
    response.status_code = 503
    response.headers["Retry-After"] = "1"
    return {"status": "the writer or the database does not answer"}


async def _answers(service: Service) -> bool:
    try:
        return await asyncio.wait_for(run_in_threadpool(service.database.answers), READY_WITHIN_S)
    except TimeoutError:
        return False


@router.get("/metrics", operation_id="get_metrics", summary="Prometheus metrics")
async def metrics(request: Request) -> Response:
    """Holdfast's own, with the prefix `holdfast_`, and those of the process."""
    own: Metrics = request.app.state.metrics
    return Response(own.text() + generate_latest(), media_type=CONTENT_TYPE_LATEST)
