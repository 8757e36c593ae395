"""A hot request from uvicorn's parser to its answer: no scope, no messages, one write.

uvicorn's way through ASGI costs more than deciding does. It is taken by everything else, and by a hot request about
which anything is unusual: one that has not come as a whole, asks whether to go on or comes while another is answered.

Nor does uvicorn bound what a connection may hold before anybody has looked at a key: that is done here.
"""

import asyncio
import time
from collections.abc import Sized
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import unquote

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from holdfast.api import problems
from holdfast.api.front import Front, Place
from holdfast.api.watch import Watch
from holdfast.api.wire import Answer

# In a row that neither begin nor end a head, a body or a piece of it: of a long head, or of what follows the last
# chunk. What came with the beginning, no more than the system hands over at once, does not count.
HEAD_BYTES_MAX = 64 * 1024
HEADERS_MAX = 128
WAITING_MAX = 256  # requests of one connection, behind the one that is answered
UNUSUAL = {b"content-encoding", b"upgrade"}

NOT_HTTP = HTTPStatus.BAD_REQUEST, "must be HTTP/1.1"
LONG_HEAD = (
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"a request may have {HEADERS_MAX} headers, and {HEAD_BYTES_MAX:,} bytes before its body",
)
TOO_MANY = HTTPStatus.BAD_REQUEST, f"{WAITING_MAX} requests may wait on one connection; read some answers first"


class Exchange:
    """One request and its answer. uvicorn, which has a thing like it, looks whether it is over, and may ask that the
    connection does not outlive it.
    """

    response_complete = False  # when it is, nobody knows it any more
    is_whole = False  # all of the request is here

    def __init__(self, place: Place, headers: list[tuple[bytes, bytes]], keep_alive: bool) -> None:
        self.place = place
        self.headers = headers
        self.keep_alive = keep_alive
        self.pieces: list[bytes] = []
        self.started = time.perf_counter()

    async def body(self) -> bytes:
        """Whoever asks for it is the only one who keeps it."""
        pieces, self.pieces = self.pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class PatientFlow(FlowControl):
    """uvicorn reads on with every answer; while others wait for theirs, the caller's own system can keep what comes."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class HotProtocol(HttpToolsProtocol):
    """What `serve` gives to uvicorn."""

    cycle: Any  # the latest request: one of uvicorn's, or an Exchange

    def __init__(self, front: Front, watch: Watch, **settings: Any) -> None:
        super().__init__(**settings)
        self._front = front
        self._watch = watch
        self._goes_on = False  # whether anything begins or ends with these bytes
        self._head_bytes = 0
        self._refusal = NOT_HTTP
        self._running: Any = None  # of uvicorn's, the one that is answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = PatientFlow(transport, self.pipeline)

    def data_received(self, data: bytes) -> None:
        self._goes_on = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._head_bytes = 0 if self._goes_on else self._head_bytes + len(data)
        if self._head_bytes > HEAD_BYTES_MAX:
            self._say_no(LONG_HEAD)
        elif type(self.cycle) is Exchange and not self.cycle.is_whole:
            self._fall_back(self.cycle)
        elif self.cycle is None or self.cycle.response_complete:
            self._expect_more()

    def on_message_begin(self) -> None:
        """Not yet a scope, which few will need."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._goes_on = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) == HEADERS_MAX:
            self._stop_parsing(LONG_HEAD)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._goes_on = True
        if len(self.pipeline) == WAITING_MAX:
            self._stop_parsing(TOO_MANY)
        exchange = self._hot()
        if exchange is None:
            self._go_the_ordinary_way()
        else:
            self.cycle = exchange

    def on_body(self, body: bytes) -> None:
        self._goes_on = True
        if type(self.cycle) is Exchange:
            self.cycle.pieces.append(body)
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._goes_on = True
        if type(self.cycle) is Exchange:
            self.cycle.is_whole = True
            task = self.loop.create_task(self._answer(self.cycle))
            self.tasks.add(task)  # the loop itself does not keep it
            task.add_done_callback(self.tasks.discard)
        else:
            super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn tells the latest request alone that nobody waits for it any more."""
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        if type(self.cycle) is Exchange:
            self.cycle = None
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls when the parser has stopped."""
        self._say_no(self._refusal)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _expect_more(self) -> None:
        """uvicorn waits without end once anything has come after an answer, or before a head is whole."""
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _stop_parsing(self, refusal: tuple[HTTPStatus, str]) -> NoReturn:
        self._refusal = refusal
        raise ValueError(refusal)

    def _say_no(self, refusal: tuple[HTTPStatus, str]) -> None:
        """To what is no request yet."""
        self._write(problems.unheard(*refusal), keep_alive=False)
        self.transport.close()

    def _hot(self) -> Exchange | None:
        if self.cycle is not None and not self.cycle.response_complete:
            return None  # it has to wait for its turn
        if self.expect_100_continue or self.parser.get_method() != b"POST" or b"?" in self.url or b"#" in self.url:
            return None
        place = self._front.find(_path_of(self.url))
        if place is None or not UNUSUAL.isdisjoint(name for name, _ in self.headers):
            return None
        keep_alive = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        return Exchange(place, self.headers, keep_alive)

    def _fall_back(self, exchange: Exchange) -> None:
        """Whoever has seen the key may wait for the rest."""
        self.cycle = None
        self._go_the_ordinary_way()
        for piece in exchange.pieces:
            super().on_body(piece)

    def _go_the_ordinary_way(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)  # the list is the scope's
        super().on_headers_complete()

    async def _answer(self, exchange: Exchange) -> None:
        place = exchange.place
        scope = {"method": "POST", "path": place.path, "headers": exchange.headers}
        answer = await self._watch.answer(scope, self._front.answer(scope, place, exchange.body), exchange.started)
        if self.flow.write_paused:
            await self.flow.drain()
        if self.transport.is_closing():  # nobody is there any more
            return
        self._write(answer, exchange.keep_alive)
        if self.cycle is exchange:
            self.cycle = None
        if not exchange.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _write(self, answer: Answer, keep_alive: bool) -> None:
        status, body, media_type, headers = answer
        lines = [b"%b: %b\r\n" % header for header in (*self.server_state.default_headers, *headers)]
        lines.append(b"content-type: %b\r\ncontent-length: %d\r\n" % (media_type, len(body)))
        if not keep_alive:
            lines.append(b"connection: close\r\n")
        self.transport.writelines((b"".join((STATUS_LINE[status], *lines, b"\r\n")), body))


def _path_of(url: bytes) -> str:
    path = url.decode("latin-1")
    return unquote(path) if "%" in path else path
