"""Waiting without keeping others from their work: plain, synchronous code on the thread of an event loop.

Two threads that take turns with Python's interpreter lose more time in handing it over than a small transaction takes.
So the writer runs on the thread that reads the requests, in a greenlet: wherever its code has to wait for a socket, or
does something that takes long, the loop goes on with other things. On any other thread the same code simply waits.
"""

import asyncio
import select
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

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


def _do(answer: "Future[T] | asyncio.Future[T]", work: Callable[[], T]) -> None:
    try:
        done = work()
    except BaseException as problem:
        if not answer.cancelled():
            answer.set_exception(problem)
    else:
        if not answer.cancelled():
            answer.set_result(done)


_threads = Threads()


async def on_loop(work: Callable[..., T], *arguments: Any) -> T:
    """Do this on the thread of the running event loop, which goes on whenever the work waits.

    Nothing stops it on its way but the end of the loop, which it does not see: what it has begun on another thread, or
    asked a database for, is then whole or not at all, as when the process is killed.
    """
    answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    worker = greenlet(_do)
    worker.turns = 0
    worker.switch(answer, partial(work, *arguments))
    return await answer


def until(arrange: Callable[[Callable[..., Any]], object]) -> Any:
    """Let the loop go on until somebody calls, on its thread, what this gives to `arrange`; what it was called with.

    To call it again does nothing.
    """
    worker = getcurrent()
    waiting = [worker]

    def go_on(told: Any = None) -> None:
        if waiting:
            waiting.pop().switch(told)

    try:
        arrange(go_on)
        worker.turns += 1
        return worker.parent.switch()
    finally:
        waiting.clear()


def give_way() -> None:
    """The loop has a turn."""
    until(asyncio.get_running_loop().call_soon)


def turns() -> int:
    """How often the loop has gone on while this code waited."""
    number: int = getcurrent().turns
    return number


def _is_on_loop() -> bool:
    """Whether whoever made this code run can go on while it waits."""
    return getcurrent().parent is not None


def apart(work: Callable[[], T]) -> T:
    """Do this on another thread if the event loop would have to wait for it."""
    if not _is_on_loop():
        return work()
    loop, answer = asyncio.get_running_loop(), _threads.submit(work)
    until(lambda go_on: answer.add_done_callback(lambda _: _call_on(loop, go_on)))
    return answer.result()


def _call_on(loop: asyncio.AbstractEventLoop, go_on: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(go_on)


def happens(descriptor: int, events: int, within_s: float) -> int:
    """Which of these events (`select.POLLIN`, …) have happened within that time; 0 if none has."""
    if within_s and _is_on_loop():
        if happened := _happens_meanwhile(descriptor, events, within_s):
            return happened
        within_s = 0.0  # and yet it may have: a loop that was late itself has looked at the clock first
    poll = select.poll()
    poll.register(descriptor, events)
    polled = poll.poll(within_s * 1e3)
    return polled[0][1] if polled else 0


def _happens_meanwhile(descriptor: int, events: int, within_s: float) -> int:
    """Of a connection that was closed by the other end it is told that it can be read; reading finds out."""
    loop = asyncio.get_running_loop()
    reads, writes = events & select.POLLIN, events & select.POLLOUT

    over: list[asyncio.TimerHandle] = []

    def listen(go_on: Callable[..., Any]) -> None:
        over.append(loop.call_later(within_s, go_on, 0))
        if reads:
            loop.add_reader(descriptor, loop.call_soon, go_on, reads)  # not at once: uvloop would not survive that
        if writes:
            loop.add_writer(descriptor, loop.call_soon, go_on, writes)

    try:
        happened: int = until(listen)
    finally:
        over[0].cancel()
        if reads:
            loop.remove_reader(descriptor)
        if writes:
            loop.remove_writer(descriptor)
    return happened
