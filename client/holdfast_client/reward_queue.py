"""Rewards in the background, from a thread: bounded, in batches, each delivered once."""

import atexit
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from holdfast_client import retries, wire
from holdfast_client.bodies import claim
from holdfast_client.errors import HoldfastError, UndeliveredRewards
from holdfast_client.models import Decision, RewardResult
from holdfast_client.outbox import BETWEEN_DELIVERIES, CLOSE_WITHIN_S, Batch, Counts, Outbox, delivery_timeout_s

Deliver = Callable[["wire.Call[list[RewardResult]]", float], list[RewardResult]]


class RewardQueue:
    """Made by `Client.rewards_in_background`.

    A reward that was added is sent until the server answers, with the same idempotency key, however often the server is
    restarted in the meantime. Use it as a context manager or `close` it: both wait for what is still on its way.

    >>> with client.rewards_in_background() as rewards:
    ...     for _ in range(100):
    ...         decision = client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2])
    ...         added = rewards.add("home", decision, 0.5)
    >>> rewards.counts.delivered
    100
    """

    def __init__(self, deliver: Deliver, outbox: Outbox, close_within_s: float = CLOSE_WITHIN_S) -> None:
        self._deliver, self._outbox, self._close_within_s = deliver, outbox, close_within_s
        self._changed = threading.Condition()
        self._closing = self._reported = False
        self._give_up_at = float("inf")
        self._thread = threading.Thread(target=self._run, name="holdfast-rewards", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def counts(self) -> Counts:
        """What became of everything so far."""
        return self._outbox.counts

    def add(
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
        with self._changed:
            while self._outbox.is_full() and self._outbox.when_full == "block" and not self._closing:
                self._changed.wait()
            if self._closing:
                raise RuntimeError("the queue is closed")
            added = self._outbox.put(learner, said)
            self._changed.notify_all()
        return added

    def flush(self, timeout: float = CLOSE_WITHIN_S) -> bool:
        """Wait until everything that was added has its answer; false if that takes longer."""
        with self._changed:
            return self._changed.wait_for(self._outbox.is_idle, timeout)

    def close(self) -> None:
        """Take no more, deliver what waits, and raise `UndeliveredRewards` if that could not be done in time."""
        with self._changed:
            if not self._closing:
                self._closing = True
                self._give_up_at = time.monotonic() + self._close_within_s
            self._changed.notify_all()
        atexit.unregister(self.close)
        if threading.current_thread() is self._thread:
            return  # from a callback: the thread ends by itself
        self._thread.join()
        if self._outbox.counts.waiting and not self._reported:
            self._reported = True
            raise UndeliveredRewards(self._outbox.counts.waiting)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.close()
        except UndeliveredRewards:
            if kind is None:  # otherwise what went wrong first matters more; `counts` still tells
                raise

    def _run(self) -> None:
        try:
            while (batch := self._next()) is not None:
                self._send(batch)
        finally:  # whatever ends this thread, nobody may wait for it
            with self._changed:
                self._closing = True
                self._changed.notify_all()

    def _next(self) -> Batch | None:
        """The next batch, or None when the queue is closed and empty, or out of time."""
        with self._changed:
            self._changed.wait_for(lambda: self._outbox.has_queued() or self._closing)
            if not self._outbox.has_queued() or time.monotonic() >= self._give_up_at:
                return None
            return self._outbox.take()

    def _send(self, batch: Batch) -> None:
        """Send until it is answered, the same request each time, or until closing takes too long."""
        failed = 0
        while True:
            try:
                results = self._deliver(batch.call(), delivery_timeout_s(self._give_up_at, time.monotonic()))
            except HoldfastError as problem:
                if batch.is_to_be_split(problem):
                    for half in batch.halves():
                        self._send(half)
                    return
                if retries.may_pass(problem):
                    failed += 1
                    if self._is_over_after(retries.backoff_s(BETWEEN_DELIVERIES, failed, 0.0)):
                        return
                    continue
                results = batch.refused(problem)
            self._settle(batch, results)
            return

    def _is_over_after(self, pause_s: float) -> bool:
        """Pause; whether it is time to give up."""
        with self._changed:
            self._changed.wait_for(lambda: time.monotonic() >= self._give_up_at, pause_s)
            return time.monotonic() >= self._give_up_at

    def _settle(self, batch: Batch, results: list[RewardResult]) -> None:
        with self._changed:
            self._outbox.settle(batch, results)
            self._changed.notify_all()
        self._outbox.tell(batch, results)
