"""Request bodies: capped before they are parsed, and parsed strictly."""

import json
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from holdfast.errors import InvalidInput, TooLarge

BODY_BYTES_MAX = 8 * 1024 * 1024
DEPTH_MAX = 8

T = TypeVar("T")


async def read_body(request: Request) -> bytes:
    """The raw body, refused as soon as it is known to be too large."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise InvalidInput("", "compressed bodies are not accepted")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > BODY_BYTES_MAX:
        raise TooLarge(f"a body may have at most {BODY_BYTES_MAX:,} bytes")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise TooLarge(f"a body may have at most {BODY_BYTES_MAX:,} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    """A typed body; unknown and repeated names, wrong types and non-finite numbers are refused."""
    try:
        decoded = decoder.decode(body)
    except msgspec.ValidationError as problem:
        raise _refused(problem) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidInput("", "must be a JSON document in UTF-8") from None
    check_names(body)
    return decoded


def check_names(body: bytes) -> None:
    """Refuse an object that says a name twice: which of the two would count?"""
    try:
        json.loads(body, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise InvalidInput("", f"must not be nested deeper than {DEPTH_MAX}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise InvalidInput("", "an object names the same thing twice")
    return named


def _no_constant(name: str) -> None:
    raise InvalidInput("", "numbers must be finite")


def _refused(problem: msgspec.ValidationError) -> InvalidInput:
    """msgspec ends its message with ``- at `$.actions[3].id` ``; the rest may quote types, never values."""
    message, _, path = str(problem).partition(" - at `$")
    steps = path.rstrip("`").replace("[...]", "").replace("[", "/").replace("]", "").replace(".", "/")
    return InvalidInput(steps, message)
