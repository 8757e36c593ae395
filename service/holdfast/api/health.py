"""Whether the process lives, and whether it is ready to serve."""

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from holdfast.api.learners import ServiceDep
from holdfast.api.metrics import Metrics

router = APIRouter(tags=["health"])


@router.get("/health/live", operation_id="is_live", summary="The process answers")
def live() -> dict[str, str]:
    return {"status": "live"}


@router.get("/health/ready", operation_id="is_ready", summary="Migrated, recovered, and the database answers")
def ready(service: ServiceDep, response: Response) -> dict[str, str]:
    if service.host.lives() and service.database.answers():
        return {"status": "ready"}
    response.status_code = 503
    response.headers["Retry-After"] = "1"
    return {"status": "the writer or the database does not answer"}


@router.get("/metrics", operation_id="get_metrics", summary="Prometheus metrics")
def metrics(request: Request) -> Response:
    """Holdfast's own, with the prefix `holdfast_`, and those of the process."""
    own: Metrics = request.app.state.metrics
    return Response(own.text() + generate_latest(), media_type=CONTENT_TYPE_LATEST)
