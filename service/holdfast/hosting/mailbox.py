"""Operations on their way to the writer."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from holdfast.errors import Unavailable
from holdfast.hosting.operation import Operation
from holdfast.store.waiting import give_way, until

WAITING_MAX = 4_096
WAITING_BYTES_MAX = 2**28  # that they hold; what comes when nothing waits is let in, however much that is
GATHERED_WITHIN_S = 0.02
# In size:
GATHERED_MAX = 128  # before the first are taken
TAKEN_MAX = 512  # more would keep the first waiting, and the loop without anything to do meanwhile
TAKEN_BYTES_MAX = 2**26  # or one more than that: a transaction has its features together in one place


class Job(NamedTuple):
    """An operation and whoever waits for it: a thread, or a task of the event loop on which the writer runs."""

    operation: Operation
    answer: "Future[Any] | asyncio.Future[Any]"


class Mailbox:
    """Filled from any thread, emptied on an event loop."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._size = 0  # of all that waits
        self._bytes = 0  # likewise
        self._door = threading.Lock()
        self._is_closing = False
        self._loop: asyncio.AbstractEventLoop | None = None  # of the one who takes
        self._thread = 0
        self._call: Callable[[], object] | None = None  # to whoever waits

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, jobs: list[Job]) -> None:
        size = held = 0
        for operation, _ in jobs:
            size += operation.size
            held += operation.bytes_held
        with self._door:
            is_full = len(self._waiting) + len(jobs) > WAITING_MAX
            if self._is_closing or is_full or (self._waiting and self._bytes + held > WAITING_BYTES_MAX):
                raise Unavailable("the service is stopping or its queue is full")
            self._waiting.extend(jobs)
            self._size += size
            self._bytes += held
        self._ring()

    def put_first(self, job: Job) -> None:
        """Ahead of all who wait, and however many they are: for what must not fall behind."""
        with self._door:
            if self._is_closing:
                raise Unavailable("the service is stopping")
            self._waiting.appendleft(job)
            self._size += job.operation.size
            self._bytes += job.operation.bytes_held
        self._ring()

    def is_worth_a_transaction(self) -> bool:
        """Whether so much waits that nothing is won by waiting for more."""
        return self._size >= GATHERED_MAX

    def close(self) -> None:
        """Nothing more is put in; what is there will be taken."""
        with self._door:
            self._is_closing = True
        self._ring()

    def take(self) -> list[Job]:
        """What has come, once there is anything; nothing if nothing will come any more. Asked on an event loop."""
        if self._loop is None:
            self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        while not self._waiting and not self._is_closing:  # a call may come late, when what it was for has been taken
            until(self._listen)
        self._gather()
        return self._next()

    def _listen(self, call: Callable[[], object]) -> None:
        self._call = call

    def _next(self) -> list[Job]:
        """As much as one transaction should hold, but at least one."""
        taken, size, held = [], 0, 0
        with self._door:
            while self._waiting and size < TAKEN_MAX and held < TAKEN_BYTES_MAX:
                taken.append(self._waiting.popleft())
                size += taken[-1].operation.size
                held += taken[-1].operation.bytes_held
            self._size -= size
            self._bytes -= held
        return taken

    def _gather(self) -> None:
        """Until a turn of the loop has brought nothing new: who comes at the same moment shares a commit."""
        before, ends = 0, time.perf_counter() + GATHERED_WITHIN_S
        while before < self._size < GATHERED_MAX and time.perf_counter() < ends:
            before = self._size
            give_way()

    def _ring(self) -> None:
        if threading.get_ident() == self._thread:
            self._answer()
        elif self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody takes any more
                self._loop.call_soon_threadsafe(self._answer)

    def _answer(self) -> None:
        if self._call is not None and self._loop is not None:
            self._loop.call_soon(self._call)
            self._call = None
