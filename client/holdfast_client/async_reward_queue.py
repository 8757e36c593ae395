"""The asynchronous twin of `reward_queue.py`, on a task instead of a thread."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from holdfast_client import retries, wire
from holdfast_client.bodies import claim
from holdfast_client.errors import HoldfastError, UndeliveredRewards
from holdfast_client.models import Decision, RewardResult
from holdfast_client.outbox import BETWEEN_DELIVERIES, CLOSE_WITHIN_S, Batch, Counts, Outbox, delivery_timeout_s

Deliver = Callable[["wire.Call[list[RewardResult]]", float], Awaitable[list[RewardResult]]]


class AsyncRewardQueue:
    """Made by `AsyncClient.rewards_in_background`, inside a running loop, and closed there.

    A reward that was added is sent until the server answers, with the same idempotency key, however often the server is
    restarted in the meantime.
    """

    def __init__(self, deliver: Deliver, outbox: Outbox, close_within_s: float = CLOSE_WITHIN_S) -> None:
        self._deliver, self._outbox, self._close_within_s = deliver, outbox, close_within_s
        self._changed = asyncio.Condition()
        self._closing = self._reported = False
        self._give_up_at = float("inf")
        self._task = asyncio.get_running_loop().create_task(self._run(), name="holdfast-rewards")

    @property
    def counts(self) -> Counts:
        """What became of everything so far."""
        return self._outbox.counts

    async def add(
        self,
        learner: str,
        decision: Decision | str,
        value: float,
        *,
        action_id: str | None = None,
        source: str | None = None,
    ) -> bool:
        """Leave a reward to the queue; false if it was dropped, or is for a fallback and so ignored."""
        said = claim(decision, value, action_id, source)
        async with self._changed:
            while self._outbox.is_full() and self._outbox.when_full == "block" and not self._closing:
                await self._changed.wait()
            if self._closing:
                raise RuntimeError("the queue is closed")
            added = self._outbox.put(learner, said)
            self._changed.notify_all()
        return added

    async def flush(self, timeout: float = CLOSE_WITHIN_S) -> bool:  # as its twin
        """Wait until everything that was added has its answer; false if that takes longer."""
        try:
            async with asyncio.timeout(timeout), self._changed:
                return await self._changed.wait_for(self._outbox.is_idle)
        except TimeoutError:
            return False

    async def close(self) -> None:
        """Take no more, deliver what waits, and raise `UndeliveredRewards` if that could not be done in time."""
        async with self._changed:
            if not self._closing:
                self._closing = True
                self._give_up_at = time.monotonic() + self._close_within_s
            self._changed.notify_all()
        if asyncio.current_task() is self._task:
            return  # from a callback: the task ends by itself
        await self._task
        if self._outbox.counts.waiting and not self._reported:
            self._reported = True
            raise UndeliveredRewards(self._outbox.counts.waiting)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except UndeliveredRewards:
            if kind is None:  # otherwise what went wrong first matters more; `counts` still tells
                raise

    async def _run(self) -> None:
        try:
            while (batch := await self._next()) is not None:
                await self._send(batch)
        finally:  # whatever ends this task, nobody may wait for it
            async with self._changed:
                self._closing = True
                self._changed.notify_all()

    async def _next(self) -> Batch | None:
        """The next batch, or None when the queue is closed and empty, or out of time."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._outbox.has_queued() or self._closing)
            if not self._outbox.has_queued() or time.monotonic() >= self._give_up_at:
                return None
            return self._outbox.take()

    async def _send(self, batch: Batch) -> None:
        """Send until it is answered, the same request each time, or until closing takes too long."""
        failed = 0
        while True:
            try:
                timeout_s = delivery_timeout_s(self._give_up_at, time.monotonic())
                results = await self._deliver(batch.call(), timeout_s)
            except HoldfastError as problem:
                if batch.is_to_be_split(problem):
                    for half in batch.halves():
                        await self._send(half)
                    return
                if retries.may_pass(problem):
                    failed += 1
                    await asyncio.sleep(retries.backoff_s(BETWEEN_DELIVERIES, failed, 0.0))
                    if time.monotonic() >= self._give_up_at:
                        return
                    continue
                results = batch.refused(problem)
            await self._settle(batch, results)
            return

    async def _settle(self, batch: Batch, results: list[RewardResult]) -> None:
        async with self._changed:
            self._outbox.settle(batch, results)
            self._changed.notify_all()
        self._outbox.tell(batch, results)
