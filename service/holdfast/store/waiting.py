"""Waiting without keeping others from their work: plain, synchronous code on the thread of an event loop.

Two threads that take turns with Python's interpreter lose more time in handing it over than a small transaction takes.
So the writer runs on the thread that reads the requests, in a greenlet: wherever its code has to wait for a socket, or
does something that takes long, the loop goes on with other things. On any other thread the same code simply waits.
"""

import asyncio
import select
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy.util.concurrency import await_only, greenlet_spawn, in_greenlet

T = TypeVar("T")

_threads = ThreadPoolExecutor(2, thread_name_prefix="holdfast-apart")


async def on_loop(work: Callable[..., T], *arguments: Any) -> T:
    """Do this on the thread of the running event loop, which goes on whenever the work waits."""
    return await greenlet_spawn(work, *arguments)


def apart(work: Callable[[], T]) -> T:
    """Do this on another thread if the event loop would have to wait for it."""
    if not in_greenlet():
        return work()
    done: T = await_only(asyncio.get_running_loop().run_in_executor(_threads, work))
    return done


def beside(work: Callable[[], None]) -> "Future[None]":
    """Do this on another thread, and do not wait for it."""
    return _threads.submit(work)


def breathe() -> None:
    """Let the event loop do what has come up."""
    if in_greenlet():
        await_only(asyncio.sleep(0))


def happens(descriptor: int, events: int, within_s: float) -> int:
    """Which of these events (`select.POLLIN`, …) have happened within that time; 0 if none has."""
    if within_s and in_greenlet():
        await_only(_happening(descriptor, events, within_s))
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
