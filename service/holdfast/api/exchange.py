"""A hot request from uvicorn's parser to its answer: no scope, no messages, one write.

uvicorn's way through ASGI costs more than deciding does. It is taken by everything else, and by a hot request about
which anything is unusual: one that is large, comes in chunks, asks whether to go on or comes while another is answered.
"""

import time
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from holdfast.api.front import Front, Place
from holdfast.api.wire import Answer, Headers

BODY_BYTES_MAX = 1024 * 1024  # more is read by who has seen the key
UNUSUAL = {b"transfer-encoding", b"content-encoding", b"upgrade"}
STATUS = {int(status): f"{status.value} {status.phrase}".encode() for status in HTTPStatus}


class HotProtocol(HttpToolsProtocol):
    """What `serve` gives to uvicorn."""

    cycle: Any  # the latest request: one of uvicorn's, or an Exchange

    def __init__(self, front: Front, **settings: Any) -> None:
        super().__init__(**settings)
        self._front = front

    def on_message_begin(self) -> None:
        """Not yet a scope, which few will need."""
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        exchange = self._hot()
        if exchange is None:
            self._go_the_ordinary_way()
        else:
            self.cycle = exchange

    def on_body(self, body: bytes) -> None:
        if type(self.cycle) is Exchange:
            self.cycle.pieces.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if type(self.cycle) is Exchange:
            task = self.loop.create_task(self._answer(self.cycle))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        else:
            super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if type(self.cycle) is Exchange:
            self.cycle = None
        super().connection_lost(exc)

    def _hot(self) -> "Exchange | None":
        if self.cycle is not None and not self.cycle.response_complete:
            return None  # it has to wait for its turn
        if self.expect_100_continue or self.parser.get_method() != b"POST":
            return None
        place = self._front.find(_path_of(self.url))
        headers = dict(self.headers)
        if place is None or not UNUSUAL.isdisjoint(headers) or not _is_small(headers):
            return None
        return Exchange(place, headers, self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive())

    def _go_the_ordinary_way(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)  # the list is the scope's
        super().on_headers_complete()

    async def _answer(self, exchange: "Exchange") -> None:
        answer = await self._front.answer(exchange.place, exchange.headers, exchange.body, exchange.started)
        if self.flow.write_paused:
            await self.flow.drain()
        if self.transport.is_closing():  # nobody is there any more
            return
        self.transport.writelines((self._head(exchange, answer), answer.body))
        if self.cycle is exchange:
            self.cycle = None
        if exchange.keep_alive:
            self.on_response_complete()
        else:
            self.transport.close()

    def _head(self, exchange: "Exchange", answer: Answer) -> bytes:
        status, body, media_type, headers = answer
        lines = [b"HTTP/1.1 " + STATUS[status]]
        lines += [b"%b: %b" % header for header in (*self.server_state.default_headers, *headers)]
        lines.append(b"content-type: %b\r\ncontent-length: %d" % (media_type, len(body)))
        if not exchange.keep_alive:
            lines.append(b"connection: close")
        return b"\r\n".join((*lines, b"\r\n"))


class Exchange:
    """One request and its answer. uvicorn, which has a thing like it, looks whether it is over, and may ask that the
    connection does not outlive it.
    """

    response_complete = False  # when it is, nobody knows it any more

    def __init__(self, place: Place, headers: Headers, keep_alive: bool) -> None:
        self.place = place
        self.headers = headers
        self.keep_alive = keep_alive
        self.pieces: list[bytes] = []
        self.started = time.perf_counter()

    async def body(self) -> bytes:
        """Whoever asks for it is the only one who keeps it."""
        pieces, self.pieces = self.pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _path_of(url: bytes) -> str:
    path = url.decode("latin-1")
    return unquote(path) if "%" in path else path


def _is_small(headers: Headers) -> bool:
    declared = headers.get(b"content-length", b"")
    return declared.isdigit() and int(declared) <= BODY_BYTES_MAX
