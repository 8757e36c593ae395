"""A PostgreSQL that falls silent is hung up on: its own timeouts do not help when it does not run."""

import select
from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg

SILENCE_MAX_S = 5.0  # longer than the server's own statement timeout
LOOK_EVERY_S = 0.1
_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR

Answer = TypeVar("Answer")


class ImpatientConnection(psycopg.Connection[Any]):
    """Closes its socket, on the thread that waits, when the server says nothing for too long.

    Every round trip of psycopg comes through `wait`, commits and rollbacks too. Whether a commit that was cut off has
    happened is for the caller to find out.
    """

    def wait(
        self, gen: Generator[Any, Any, Answer], interval: float = LOOK_EVERY_S, timeout: float | None = None
    ) -> Answer:
        try:
            return super().wait(_unless_silent(gen), interval)
        except Silence:
            self.pgconn.finish()
            raise

    def is_hung_up(self) -> bool:
        """Whether the server has closed its end; a system call, where a ping would be a round trip."""
        poll = select.poll()
        poll.register(self.pgconn.socket, _HUNG_UP)
        return bool(poll.poll(0))


class Silence(psycopg.OperationalError):
    """The server did not answer in time."""


def _unless_silent(gen: Generator[Any, Any, Answer]) -> Generator[Any, Any, Answer]:
    """The steps of one round trip, given up after too many in which nothing was heard."""
    heard = monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                heard = monotonic()
            elif monotonic() - heard > SILENCE_MAX_S:
                raise Silence("the server did not answer in time")
            wanted = gen.send(ready)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
