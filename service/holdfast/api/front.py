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
from holdfast.errors import HoldfastError

PREFIX = "/v1/learners/"

log = structlog.get_logger("holdfast")


class Call(NamedTuple):
    """One request to a hot route."""

    learner: str
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
        call = Call(scope["path_params"]["name"], service, headers_of(scope), scope["path"], receive)
        try:
            answer = await self.endpoint(call)
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
            route = self.routes.get(rest)
            if route is not None and name:
                scope["app"], scope["path_params"] = self.app, {"name": name}
                scope[TEMPLATE] = f"{PREFIX}{{name}}/{rest}"
                await route(scope, receive, send)
                return
        await self.app(scope, receive, send)
