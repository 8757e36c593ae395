"""Both clients behind one face, so that every test of the one is a test of the other."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any, cast

from holdfast_client import AsyncClient, AsyncEpisode, AsyncRewardQueue, Client
from holdfast_client.simulator.network import AsyncFaultyTransport, FaultyTransport, Weather

TWINS = ("sync", "async")


class Blocking:
    """An asynchronous object whose methods wait. Its loop runs only while one of them does."""

    def __init__(self, target: Any, runner: asyncio.Runner) -> None:
        self._target, self._runner = target, runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self._runner.run(self._called(found, args, kwargs))

    async def _called(self, method: Any, args: Any, kwargs: Any) -> Any:
        made = method(*args, **kwargs)
        if isinstance(made, AsyncIterator):
            return [item async for item in made]
        answer = await made if inspect.isawaitable(made) else made
        return Blocking(answer, self._runner) if isinstance(answer, AsyncEpisode | AsyncRewardQueue) else answer

    def __enter__(self) -> "Blocking":
        self._runner.run(self._called(self._target.__aenter__, (), {}))
        return self

    def __exit__(self, *problem: Any) -> None:
        try:
            self._runner.run(self._called(self._target.__aexit__, problem, {}))
        finally:
            if isinstance(self._target, AsyncClient):
                self._runner.close()


def make_client(twin: str, url: str, weather: Weather | None = None, **settings: Any) -> Client:
    """A client of either kind behind this weather; typed as the synchronous one."""
    weather = weather or Weather()
    if twin == "sync":
        return Client(url, transport=FaultyTransport(weather), **settings)
    made = AsyncClient(url, transport=AsyncFaultyTransport(weather), **settings)
    return cast(Client, Blocking(made, asyncio.Runner()))
