"""The hot routes, found and answered without FastAPI: its way would cost more than deciding and committing does."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import structlog
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from holdfast.api import problems
from holdfast.api.metrics import TEMPLATE
from holdfast.api.request_ids import request_id_of
from holdfast.api.service import Service
from holdfast.api.wire import Answer, Headers, headers_of, read_body, send_answer
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
    read: Callable[[], Awaitable[bytes]]  # the body, once


Endpoint = Callable[[Call], Awaitable[Answer]]


class HotRoute:
    """An endpoint with the answers that FastAPI's exception handlers would give; also as an ASGI application."""

    def __init__(self, template: str, endpoint: Endpoint) -> None:
        self.template = template
        self.endpoint = endpoint

    async def answer(self, scope: Scope, call: Call) -> Answer:
        """In any case; nothing is raised but when the process stops."""
        scope[TEMPLATE] = self.template
        try:
            return await self._answer(scope, call)
        except Exception:
            log.exception("request failed", request_id=request_id_of(scope).decode("ascii"))
            return problems.failed(scope)

    async def _answer(self, scope: Scope, call: Call) -> Answer:
        try:
            return await self.endpoint(call)
        except InvalidInput as problem:
            return problems.answer(scope, await call.service.reconsidered(call.learner, problem))
        except HoldfastError as problem:
            return problems.answer(scope, problem)
        except ClientDisconnect:
            return problems.disconnected(scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named, headers = scope["path_params"], headers_of(scope)
        read = partial(read_body, headers, receive)
        service: Service = scope["app"].state.service
        call = Call(named["name"], named.get("episode_id", ""), service, headers, scope["path"], read)
        await send_answer(await self.answer(scope, call), send)


class Place(NamedTuple):
    """What a path leads to."""

    route: HotRoute
    path: str
    learner: str
    episode: str


class Front:
    """An ASGI application: POSTs to `/v1/learners/{name}/…` that are hot, itself; everything else, FastAPI."""

    def __init__(self, app: FastAPI, hot_routes: dict[str, HotRoute]) -> None:
        self._app = app
        self._routes = {path.removeprefix(PREFIX + "{name}/"): route for path, route in hot_routes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        place = self.find(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if place is None:
            await self._app(scope, receive, send)
        else:
            scope["app"], scope["path_params"] = self._app, {"name": place.learner, "episode_id": place.episode}
            await place.route(scope, receive, send)

    def find(self, path: str) -> Place | None:
        """None if the path leads to nothing hot."""
        if not path.startswith(PREFIX):
            return None
        name, _, rest = path[len(PREFIX) :].partition("/")
        ending, episode = _without_id(rest)
        route = self._routes.get(ending)
        return Place(route, path, name, episode) if route is not None and name else None

    async def answer(self, scope: Scope, place: Place, read: Callable[[], Awaitable[bytes]]) -> Answer:
        """What is asked there, without ASGI: of the scope only what says who asks for what."""
        call = Call(place.learner, place.episode, self._app.state.service, headers_of(scope), place.path, read)
        return await place.route.answer(scope, call)


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
