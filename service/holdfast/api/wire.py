"""What the hot routes need of a request and what they answer, and both as plain ASGI."""

from typing import NamedTuple

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from holdfast.errors import InvalidInput, TooLarge
from holdfast.features.limits import ID_LENGTH_MAX

BODY_BYTES_MAX = 8 * 1024 * 1024
JSON = b"application/json"

Headers = dict[bytes, bytes]  # names in lower case


class Answer(NamedTuple):
    """A whole response."""

    status: int
    body: bytes
    media_type: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def headers_of(scope: Scope) -> Headers:
    return dict(scope["headers"])


def idempotency_key(headers: Headers) -> str | None:
    """What makes a repeat of this request known as one."""
    key = headers.get(b"idempotency-key")
    if key is not None and not 1 <= len(key) <= ID_LENGTH_MAX:
        raise InvalidInput("", f"an Idempotency-Key has 1 to {ID_LENGTH_MAX} characters")
    return None if key is None else key.decode("latin-1")


async def read_body(headers: Headers, receive: Receive, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The raw body, refused as soon as it is known to be too large."""
    if headers.get(b"content-encoding", b"identity") != b"identity":
        raise InvalidInput("", "compressed bodies are not accepted")
    declared = headers.get(b"content-length", b"")
    if declared.isdigit():
        _check_size(int(declared), bytes_max)
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        _check_size(size, bytes_max)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _check_size(size: int, bytes_max: int) -> None:
    if size > bytes_max:
        raise TooLarge(f"a body may have at most {bytes_max:,} bytes")


async def send_answer(answer: Answer, send: Send) -> None:
    length = b"%d" % len(answer.body)
    headers = [(b"content-type", answer.media_type), (b"content-length", length), *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
