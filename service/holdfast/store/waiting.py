"""Waiting without keeping others from their work: plain, synchronous code on the thread of an event loop.

Two threads that take turns with Python's interpreter lose more time in handing it over than a small transaction takes.
So the writer runs on the thread that reads the requests, in a greenlet: wherever its code has to wait for a socket, or
does something that takes long, the loop goes on with other things. On any other thread the same code simply waits.
"""

import asyncio
import select
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from sqlalchemy.util.concurrency import await_only, greenlet_spawn, in_greenlet

T = TypeVar("T")

THREADS = 2


class Threads:
    """They end with the process, whatever they are doing: it would wait for those of a ThreadPoolExecutor."""

    def __init__(self) -> None:
        self._errands: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._to_start = [
            threading.Thread(target=self._run, name="holdfast-apart", daemon=True) for _ in range(THREADS)
        ]

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        answer: Future[T] = Future()
        self._errands.put((answer, work))
        with suppress(IndexError):
            self._to_start.pop().start()
        return answer

    def _run(self) -> None:
        while True:
            _do(*self._errands.get())


def _do(answer: "Future[T]", work: Callable[[], T]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        done = work()
    except BaseException as problem:
        answer.set_exception(problem)
    else:
        answer.set_result(done)


_threads = Threads()


async def on_loop(work: Callable[..., T], *arguments: Any) -> T:
    """Do this on the thread of the running event loop, which goes on whenever the work waits."""
    return await greenlet_spawn(work, *arguments)


def awaited(something: Awaitable[T]) -> T:
    """What this comes to; the loop goes on until it does."""
    done: T = await_only(something)
    return done


class Turn:
    """Whether the running event loop has gone on since."""

    def __init__(self) -> None:
        self.has_come = False
        asyncio.get_running_loop().call_soon(self._come)

    def _come(self) -> None:
        self.has_come = True


def apart(work: Callable[[], T]) -> T:
    """Do this on another thread if the event loop would have to wait for it."""
    if not in_greenlet():
        return work()
    return awaited(asyncio.wrap_future(_threads.submit(work)))


def happens(descriptor: int, events: int, within_s: float) -> int:
    """Which of these events (`select.POLLIN`, …) have happened within that time; 0 if none has."""
    if within_s and in_greenlet():
        awaited(_happening(descriptor, events, within_s))
        within_s = 0.0
    poll = select.poll()
    poll.register(descriptor, events)
    happened = poll.poll(within_s * 1e3)
    return happened[0][1] if happened else 0


async def _happening(descriptor: int, events: int, within_s: float) -> None:
    loop = asyncio.get_running_loop()
    happened = loop.create_future()
    over = loop.call_later(within_s, _tell, happened)
    if events & select.POLLIN:
        loop.add_reader(descriptor, _tell, happened)
    if events & select.POLLOUT:
        loop.add_writer(descriptor, _tell, happened)
    try:
        await happened
    finally:
        over.cancel()
        loop.remove_reader(descriptor)
        loop.remove_writer(descriptor)


def _tell(happened: "asyncio.Future[None]") -> None:
    if not happened.done():
        happened.set_result(None)
