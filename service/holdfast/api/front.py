"""The hot routes, found before FastAPI: its middleware would cost more than deciding and committing does."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import structlog
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from holdfast.api import problems
from holdfast.api.metrics import TEMPLATE
from holdfast.api.request_ids import request_id_of
from holdfast.api.service import Service
from holdfast.api.wire import Answer, Headers, headers_of, send_answer
from holdfast.errors import HoldfastError, InvalidInput

PREFIX = "/v1/learners/"
EPISODES = "episodes/"

log = structlog.get_logger("holdfast")


class Call(NamedTuple):
    """One request to a hot route."""

    learner: str
    episode: str  # its id, where the address has one
    service: Service
    headers: Headers
    path: str
    receive: Receive


Endpoint = Callable[[Call], Awaitable[Answer]]


class HotRoute:
    """An endpoint as an ASGI application, with the answers that FastAPI's exception handlers would give."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service: Service = scope["app"].state.service
        named: dict[str, str] = scope["path_params"]
        episode = named.get("episode_id", "")
        call = Call(named["name"], episode, service, headers_of(scope), scope["path"], receive)
        try:
            answer = await self.endpoint(call)
        except InvalidInput as problem:
            answer = problems.answer(scope, await service.reconsidered(call.learner, problem))
        except HoldfastError as problem:
            answer = problems.answer(scope, problem)
        except ClientDisconnect:
            answer = problems.disconnected(scope)
        except Exception:
            log.exception("request failed", request_id=request_id_of(scope).decode("ascii"))
            answer = problems.failed(scope)
        await send_answer(answer, send)


class Front:
    """An ASGI application: POSTs to `/v1/learners/{name}/…` that are hot, itself; everything else, FastAPI."""

    def __init__(self, app: FastAPI, hot_routes: dict[str, HotRoute]) -> None:
        self.app = app
        self.routes = {path.removeprefix(PREFIX + "{name}/"): route for path, route in hot_routes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(PREFIX):
            name, _, rest = scope["path"][len(PREFIX) :].partition("/")
            template, episode = _without_id(rest)
            route = self.routes.get(template)
            if route is not None and name:
                scope["app"], scope["path_params"] = self.app, {"name": name, "episode_id": episode}
                scope[TEMPLATE] = f"{PREFIX}{{name}}/{template}"
                await route(scope, receive, send)
                return
        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self._head(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Like GET; the server leaves the body out, because its own scope still says HEAD."""
        as_get = {**scope, "method": "GET"}
        try:
            await self.app(as_get, receive, send)
        finally:
            if "route" in as_get:
                scope["route"] = as_get["route"]  # for the metrics


def _without_id(rest: str) -> tuple[str, str]:
    """An address with the place of an episode's id, and the id; it may be anything, slashes included.

    >>> _without_id("episodes/a/b/steps")
    ('episodes/{episode_id}/steps', 'a/b')
    >>> _without_id("decisions")
    ('decisions', '')
    """
    if not rest.startswith(EPISODES):
        return rest, ""
    episode, _, verb = rest[len(EPISODES) :].rpartition("/")
    return f"{EPISODES}{{episode_id}}/{verb}", episode
