"""How long callers wait for the writer: one timer for all, since one for each costs more than it ever brings."""

import asyncio
from typing import Any

from holdfast.errors import Unavailable


class Patience:
    """Who has waited for so long is told to ask again."""

    def __init__(self, within_s: float) -> None:
        self._within_s = within_s
        self._since: dict[asyncio.Future[Any], float] = {}  # first those who have waited longest
        self._is_timed = False

    async def answered(self, answer: "asyncio.Future[Any]") -> Any:
        """The answer; `Unavailable` if it does not come in time."""
        loop = answer.get_loop()
        self._since[answer] = loop.time()
        if not self._is_timed:
            self._look_in(self._within_s, loop)
        try:
            return await answer
        finally:
            del self._since[answer]

    def _look_in(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        self._is_timed = True
        loop.call_later(seconds, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_timed = False
        for answer, since in self._since.items():
            left = since + self._within_s - loop.time()
            if left > 0.0:
                self._look_in(left, loop)
                return
            _give_up(answer)


def _give_up(answer: "asyncio.Future[Any]") -> None:
    if not answer.done():
        problem = Unavailable("the answer took too long; it may still be done, and asking again is safe")
        answer.set_exception(problem)
