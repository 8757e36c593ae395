"""Errors as RFC 9457 problem documents. They name the place and the rule, and never echo what was sent."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from holdfast.api.refusals import Refused, from_pydantic
from holdfast.api.request_ids import request_id_of
from holdfast.api.wire import Answer
from holdfast.errors import (
    Conflict,
    Forbidden,
    HoldfastError,
    InvalidConfiguration,
    InvalidInput,
    NotFound,
    NotYet,
    TooLarge,
    TooMany,
    Unauthorised,
    Unavailable,
    UnusableState,
)

PROBLEM = b"application/problem+json"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_encode = msgspec.json.Encoder().encode


def document(problem: HoldfastError) -> dict[str, Any]:
    """The problem's members."""
    status, slug, title = _kind(problem)
    body: dict[str, Any] = {"type": slug, "title": title, "status": status, "detail": str(problem)}
    if isinstance(problem, InvalidInput):
        every = problem.every if isinstance(problem, Refused) else [problem]
        body["errors"] = [{"pointer": one.pointer, "detail": one.rule} for one in every]
    if isinstance(problem, Conflict) and problem.pointer is not None:
        body["errors"] = [{"pointer": problem.pointer, "detail": str(problem)}]
    return body


def answer(scope: Scope, problem: HoldfastError) -> Answer:
    """The problem as it goes over the wire."""
    body = document(problem) | _name_of(scope)
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if isinstance(problem, Unavailable | TooMany):
        headers = ((b"retry-after", b"%d" % problem.retry_after_s),)
    if isinstance(problem, Unauthorised):
        headers = ((b"www-authenticate", b"Bearer"),)
    return Answer(body["status"], _encode(body), PROBLEM, headers)


async def answer_problem(request: Request, problem: Exception) -> Response:
    """Starlette's exception handler for everything Holdfast raises on purpose."""
    assert isinstance(problem, HoldfastError)
    return _response(answer(request.scope, problem))


async def answer_validation(request: Request, problem: Exception) -> Response:
    """FastAPI's complaints about the address and the query."""
    assert isinstance(problem, RequestValidationError)
    return _response(answer(request.scope, from_pydantic(problem.errors())))


async def answer_http(request: Request, problem: Exception) -> Response:
    """An unknown path, a method it does not have, and whatever else the framework refuses."""
    assert isinstance(problem, HTTPException)
    status = HTTPStatus(problem.status_code)
    slug = status.phrase.lower().replace(" ", "-")
    plain = _plain(request.scope, status, slug, status.phrase, status.description or status.phrase)
    headers = {"Allow": ", ".join(_methods(request))} if status == HTTPStatus.METHOD_NOT_ALLOWED else problem.headers
    return Response(plain.body, plain.status, headers, plain.media_type.decode())


def _methods(request: Request) -> list[str]:
    """All that this path takes; the framework names those of the first of its routes."""
    asked = ({**request.scope, "method": method} for method in METHODS)
    taken = [scope["method"] for scope in asked if _is_routed(request.app.routes, scope)]
    return [*taken, "HEAD"] if "GET" in taken else taken  # `heads` asks HEAD as GET


def _is_routed(routes: Iterable[BaseRoute], scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


async def answer_disconnect(request: Request, problem: Exception) -> Response:
    return _response(disconnected(request.scope))


async def answer_failure(request: Request, problem: Exception) -> Response:
    return _response(failed(request.scope))


def _response(answer: Answer) -> Response:
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    return Response(answer.body, answer.status, headers, answer.media_type.decode())


def disconnected(scope: Scope) -> Answer:
    """The caller left before the body was complete; nobody hears this, and nothing failed."""
    return _plain(scope, 400, "incomplete", "Incomplete", "the body ended before its length")


def failed(scope: Scope) -> Answer:
    """A mistake of ours: say so, and nothing of its inside."""
    return _plain(scope, 500, "internal", "Internal error", "the request failed; it was logged")


def unheard(status: HTTPStatus, detail: str) -> Answer:
    """To what did not become a request."""
    slug = status.phrase.lower().replace(" ", "-")
    return _plain({"headers": ()}, status, slug, status.phrase, detail)


def _plain(scope: Scope, status: int, slug: str, title: str, detail: str) -> Answer:
    body = {"type": slug, "title": title, "status": int(status), "detail": detail} | _name_of(scope)
    return Answer(int(status), _encode(body), PROBLEM)


def _name_of(scope: Scope) -> dict[str, str]:
    """What to quote when asking about it; the same as in the log and in the header X-Request-Id."""
    return {"request_id": request_id_of(scope).decode("ascii")}


def _kind(problem: HoldfastError) -> tuple[int, str, str]:
    """Status, stable slug and title."""
    if isinstance(problem, InvalidInput):
        return 422, "invalid-input", "Invalid input"
    if isinstance(problem, InvalidConfiguration):
        return 422, "invalid-configuration", "Invalid configuration"
    if isinstance(problem, UnusableState):
        return 422, "unusable-state", "Unusable state file"
    if isinstance(problem, Unauthorised):
        return 401, "unauthorised", "No key, or an unknown one"
    if isinstance(problem, Forbidden):
        return 403, "forbidden", "The key's role does not allow this"
    if isinstance(problem, NotFound):
        return 404, f"{problem.slug}-not-found", "Not found"
    if isinstance(problem, Conflict):
        return 409, problem.slug, "Conflict"
    if isinstance(problem, TooLarge):
        return 413, "too-large", "Too large"
    if isinstance(problem, TooMany):
        return 429, "rate-limited", "Too many requests"
    if isinstance(problem, NotYet):
        return 501, "not-implemented", "Not implemented"
    if isinstance(problem, Unavailable):
        return 503, "unavailable", "Not available now"
    return 500, "internal", "Internal error"
