"""Around every request: its id on the answer, its place in the metrics, a line in the log when something went wrong.

Never logged: bodies, headers, queries.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api import problems
from holdfast.api.metrics import Traffic
from holdfast.api.request_ids import HEADER, request_id_of
from holdfast.api.wire import Answer, send_answer
from holdfast.errors import Unavailable

PATH_LENGTH_MAX = 256
LINES_PER_SECOND_MAX = 10
STOPPING = "the service is stopping; this may still be done, and asking again is safe"

log = structlog.get_logger("holdfast")


class Watch:
    """An ASGI application around another; and around the hot requests, which come another way."""

    def __init__(self, app: ASGIApp, traffic: Traffic, access_log: bool = False) -> None:
        self.app = app
        self.traffic = traffic
        self.access_log = access_log
        self.warn = Sparing(log.warning)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        stamp = (HEADER, request_id_of(scope))
        status = 0

        def stamped(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append(stamp)
            return send(message)

        try:
            await self.app(scope, receive, stamped)
        except asyncio.CancelledError:  # the process stops and cannot wait any longer
            if not status:
                await send_answer(problems.answer(scope, Unavailable(STOPPING)), stamped)
        except Exception:
            log.exception("request failed", **_facts(scope, status))
            if not status:
                raise
        self._saw(scope, status, time.perf_counter() - started)

    async def answer(self, scope: Scope, answering: Awaitable[Answer], started: float) -> Answer:
        """The same around a request that did not come through ASGI."""
        try:
            status, body, media_type, headers = await answering
        except asyncio.CancelledError:  # likewise
            status, body, media_type, headers = problems.answer(scope, Unavailable(STOPPING))
        self._saw(scope, status, time.perf_counter() - started)
        return Answer(status, body, media_type, (*headers, (HEADER, request_id_of(scope))))

    def _saw(self, scope: Scope, status: int, seconds: float) -> None:
        self.traffic.saw(scope, status, seconds)
        if status > 500:  # a 500 was logged with its traceback
            self.warn("request not served", **_facts(scope, status))
        if self.access_log:
            log.info("request", **_facts(scope, status), ms=round(seconds * 1e3, 3))


def _facts(scope: Scope, status: int) -> dict[str, object]:
    return {
        "request_id": request_id_of(scope).decode("ascii"),
        "method": scope["method"],
        "path": scope["path"][:PATH_LENGTH_MAX],
        "status": status,
    }


class Sparing:
    """At most a few lines a second: when everything fails, the log must not be what makes it slow."""

    def __init__(self, say: Callable[..., None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._second, self._said, self._left_out = 0, 0, 0

    def __call__(self, event: str, **facts: object) -> None:
        second = int(self._clock())
        if second != self._second:
            if self._left_out:
                self._say("lines left out", count=self._left_out)
            self._second, self._said, self._left_out = second, 0, 0
        if self._said < LINES_PER_SECOND_MAX:
            self._said += 1
            self._say(event, **facts)
        else:
            self._left_out += 1
