"""A network that drops, delays, duplicates and refuses, at random from a seed or as told, in front of the real one."""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from enum import StrEnum
from random import Random

import httpx

DELAY_S = 0.05
REMEMBERED = 200  # requests


class Fault(StrEnum):
    """What can happen to one request."""

    NONE = "none"
    UNREACHABLE = "unreachable"  # nothing was sent
    CUT = "cut"  # the connection broke before the server saw anything, and nobody can know
    LOST_ANSWER = "lost answer"  # the server did it, and nobody heard
    LATE_ANSWER = "late answer"  # the server did it, and nobody waited long enough
    DELAYED = "delayed"
    DUPLICATED = "duplicated"  # the server got it twice
    RATE_LIMITED = "429"
    AWAY = "503"  # a proxy, without asking the server
    GAVE_UP = "503 after the fact"  # a proxy that did ask the server


RAISED: dict[Fault, type[httpx.TransportError]] = {
    Fault.UNREACHABLE: httpx.ConnectError,
    Fault.CUT: httpx.RemoteProtocolError,
    Fault.LOST_ANSWER: httpx.ReadError,
    Fault.LATE_ANSWER: httpx.ReadTimeout,
}
ANSWERED = {Fault.RATE_LIMITED: 429, Fault.AWAY: 503, Fault.GAVE_UP: 503}
NEVER_ARRIVES = {Fault.UNREACHABLE, Fault.CUT, Fault.RATE_LIMITED, Fault.AWAY}


class Weather:
    """Which fault comes next: those in `script`, then one in `share` of the requests, drawn from the seed."""

    def __init__(self, script: Sequence[Fault] = (), share: float = 0.0, seed: int = 0) -> None:
        self._script, self._share, self._rng = list(script), share, Random(seed)  # noqa: S311
        self._lock = threading.Lock()
        self.requests: deque[httpx.Request] = deque(maxlen=REMEMBERED)  # the last ones: a soak has millions
        self.seen: Counter[Fault] = Counter()

    def next(self, request: httpx.Request) -> Fault:
        with self._lock:
            fault = self._draw()
            self.requests.append(request)
            self.seen[fault] += 1
            return fault

    def _draw(self) -> Fault:
        if self._script:
            return self._script.pop(0)
        if self._rng.random() >= self._share:
            return Fault.NONE
        return self._rng.choice([fault for fault in Fault if fault is not Fault.NONE])


def _end(fault: Fault, request: httpx.Request, response: httpx.Response | None) -> httpx.Response:
    """What the caller gets to see."""
    if fault in RAISED:
        raise RAISED[fault](fault.value, request=request)
    if fault in ANSWERED:
        return httpx.Response(ANSWERED[fault], headers={"Retry-After": "0"}, text="not now")
    assert response is not None
    return response


class FaultyTransport(httpx.BaseTransport):
    def __init__(self, weather: Weather) -> None:
        self._weather, self._network = weather, httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        fault, response = self._weather.next(request), None
        if fault is Fault.DELAYED:
            time.sleep(DELAY_S)
        if fault not in NEVER_ARRIVES:
            response = self._network.handle_request(request)
        if fault not in (Fault.NONE, Fault.DELAYED) and response is not None:
            response.read()
            response.close()
        if fault is Fault.DUPLICATED:
            response = self._network.handle_request(request)
        return _end(fault, request, response)

    def close(self) -> None:
        self._network.close()


class AsyncFaultyTransport(httpx.AsyncBaseTransport):
    def __init__(self, weather: Weather) -> None:
        self._weather, self._network = weather, httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        fault, response = self._weather.next(request), None
        if fault is Fault.DELAYED:
            await asyncio.sleep(DELAY_S)
        if fault not in NEVER_ARRIVES:
            response = await self._network.handle_async_request(request)
        if fault not in (Fault.NONE, Fault.DELAYED) and response is not None:
            await response.aread()
            await response.aclose()
        if fault is Fault.DUPLICATED:
            response = await self._network.handle_async_request(request)
        return _end(fault, request, response)

    async def aclose(self) -> None:
        await self._network.aclose()
