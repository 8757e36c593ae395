"""Composition in one visible place: the parts of a serving process, put together."""

import ctypes
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from holdfast import __version__
from holdfast.api import audit, episodes, health, hot, learners, looking, openapi, problems
from holdfast.api.access import Gate
from holdfast.api.front import Front, HotRoute
from holdfast.api.heads import Heads
from holdfast.api.limits import Limits
from holdfast.api.metrics import Metrics, Traffic
from holdfast.api.service import Service
from holdfast.api.watch import Watch
from holdfast.errors import HoldfastError
from holdfast.hosting.host import Host
from holdfast.settings import Settings
from holdfast.store.database import Database
from holdfast.store.engine import alone, connect, parse_url
from holdfast.store.migrate import migrate

# Both together: a stop takes less than ten seconds, whatever hangs.
DRAIN_WITHIN_S = 3  # for the requests that are being answered
SAVE_WITHIN_S = 4.0  # for the writer; what it cannot save then is in the log
GARBAGE_LOOK_EVERY = 50_000  # new containers
TURN_S = 0.0005  # of one thread, while another waits for the interpreter
# For glibc's mallopt, by its numbers for them: as bodies, features and answers of large requests come and go, their
# memory is kept for the next instead of being fetched from the system, page by page, each time.
MEMORY = {-1: 32 * 2**20, -2: 2**20, -3: 16 * 2**20}  # free before some is given back, fetched at once, mapped alone

log = structlog.get_logger("holdfast")


def build(settings: Settings) -> FastAPI:
    """An application that migrates, serves and, when told to stop, drains and saves."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        url = parse_url(settings.database_url)
        with alone(url):
            database = Database(connect(url))
            migrate(database.engine)
            host = Host(database, log.warning)
            host.start()
            app.state.metrics = Metrics(app.state.traffic, host)
            gate = Gate(database, settings.pepper.encode(), settings.auth == "off")
            app.state.service = Service(database, host, gate, Limits(settings.rate_limit, settings.rate_burst))
            _settle_python()
            yield
            await run_in_threadpool(host.stop, SAVE_WITHIN_S)
            database.close()

    app = FastAPI(title="Holdfast", version=__version__, lifespan=lifespan, redirect_slashes=False)
    app.state.traffic = Traffic()
    for path, hot_route in HOT_ROUTES.items():  # first, so that they are found first
        app.router.routes.append(Route(path.replace("_id}", "_id:path}"), hot_route, methods=["POST"]))
    for router in (learners.router, looking.router, audit.router, health.router):
        app.include_router(router)
    app.add_exception_handler(HoldfastError, problems.answer_problem)
    app.add_exception_handler(RequestValidationError, problems.answer_validation)
    app.add_exception_handler(HTTPException, problems.answer_http)
    app.add_exception_handler(ClientDisconnect, problems.answer_disconnect)
    app.add_exception_handler(Exception, problems.answer_failure)
    app.openapi_schema = openapi.document(app)
    return app


def _settle_python() -> None:
    """What is there at the start stays: do not look at it again for every few requests. And the event loop has its turn
    soon while a plan is made, or something else that takes long, on another thread.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_LOOK_EVERY)
    sys.setswitchinterval(TURN_S)
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in MEMORY.items():
            mallopt(parameter, value)


class Served(NamedTuple):
    """What `serve` runs: the application, watched, and its hot routes, which requests reach before it."""

    watch: Watch
    front: Front


def served(settings: Settings) -> Served:
    app = build(settings)
    front = Front(app, HOT_ROUTES)
    return Served(Watch(Heads(front), app.state.traffic, access_log=settings.access_log == "on"), front)


HOT_ROUTES = {
    path: HotRoute(path, endpoint)
    for path, endpoint in {
        "/v1/learners/{name}/decisions": hot.decide,
        "/v1/learners/{name}/decisions/batch": hot.decide_many,
        "/v1/learners/{name}/rewards": hot.reward,
        "/v1/learners/{name}/rewards/batch": hot.reward_many,
        "/v1/learners/{name}/events": hot.observe,
        "/v1/learners/{name}/episodes": episodes.begin,
        "/v1/learners/{name}/episodes/{episode_id}/steps": episodes.step,
        "/v1/learners/{name}/episodes/{episode_id}/rewards": episodes.reward,
        "/v1/learners/{name}/episodes/{episode_id}/finish": episodes.finish,
    }.items()
}
