"""The hot routes, found before FastAPI: its middleware would cost more than deciding and committing does."""

from collections.abc import Awaitable, Callable

import structlog
from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.api import problems
from holdfast.errors import HoldfastError

Endpoint = Callable[[Request], Awaitable[Response]]
PREFIX = "/v1/learners/"

log = structlog.get_logger("holdfast")


class Front:
    """An ASGI application: POSTs to `/v1/learners/{name}/…` that are hot, itself; everything else, FastAPI."""

    def __init__(self, app: FastAPI, hot_routes: dict[str, Endpoint]) -> None:
        self.app = app
        self.endpoints = {path.removeprefix(PREFIX + "{name}/"): endpoint for path, endpoint in hot_routes.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(PREFIX):
            name, _, rest = scope["path"][len(PREFIX) :].partition("/")
            endpoint = self.endpoints.get(rest)
            if endpoint is not None and name:
                scope["app"], scope["path_params"] = self.app, {"name": name}
                request = Request(scope, receive)
                response = await _answered(endpoint, request)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _answered(endpoint: Endpoint, request: Request) -> Response:
    """What FastAPI's exception handlers would answer."""
    try:
        return await endpoint(request)
    except HoldfastError as problem:
        return await problems.answer_problem(request, problem)
    except ClientDisconnect as problem:
        return await problems.answer_disconnect(request, problem)
    except Exception as problem:
        log.exception("request failed")
        return await problems.answer_failure(request, problem)
