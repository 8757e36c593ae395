"""The asynchronous twin of `client.py`; what both do is in `wire`, `answers` and `retries`."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from holdfast_client import answers, wire
from holdfast_client.async_episode import AsyncEpisode
from holdfast_client.async_reward_queue import AsyncRewardQueue
from holdfast_client.bodies import (
    Actions,
    Claim,
    Features,
    Observation,
    Question,
    claim,
    question,
    questions,
    was_fallback,
)
from holdfast_client.errors import HoldfastError
from holdfast_client.models import (
    Decision,
    DecisionRecord,
    Diagnostics,
    Health,
    Learner,
    LogEvent,
    Observed,
    Retraction,
    RewardResult,
)
from holdfast_client.outbox import BATCH_MAX, CAPACITY, CLOSE_WITHIN_S, OnResult, Outbox, WhenFull
from holdfast_client.retries import Course, Retries, limited
from holdfast_client.settings import DECISION_TIMEOUT_S, TIMEOUT_S, address

T = TypeVar("T")


class AsyncClient:
    """Talks to one Holdfast server, on asyncio. What its methods mean is written at those of `Client`.

    >>> import asyncio
    >>> from holdfast_client import AsyncClient
    >>> async def ask() -> str:
    ...     async with AsyncClient() as client:
    ...         decision = await client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2])
    ...         result = await client.reward("home", decision, 1.0)
    ...         return result.outcome
    >>> asyncio.run(ask())
    'learned'
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_S,
        decision_timeout: float = DECISION_TIMEOUT_S,
        retries: Retries | int | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        where = address(base_url, api_key)
        self.base_url = where.base_url
        self._timeout, self._decision_timeout = timeout, decision_timeout
        self._retries = retries if isinstance(retries, Retries) else limited(Retries(), retries)
        self._http = httpx.AsyncClient(base_url=where.base_url, headers=where.headers, transport=transport)
        self._queues: list[AsyncRewardQueue] = []

    async def create_learner(
        self,
        name: str,
        *,
        features: Mapping[str, Any],
        kind: str = "bandit",
        timeout: float | None = None,
        retries: int | None = None,
        **settings: Any,
    ) -> Learner:
        """Create a learner; `settings` are the contract's others, such as `corruption`. Again is no error."""
        described = {"name": name, "kind": kind, "features": features, **settings}
        return await self._send(wire.create_learner(described), timeout, retries)

    async def get_learner(self, name: str, *, timeout: float | None = None, retries: int | None = None) -> Learner:
        """One learner."""
        return await self._send(wire.get_learner(name), timeout, retries)

    async def list_learners(
        self, *, page_size: int = 100, timeout: float | None = None, retries: int | None = None
    ) -> AsyncIterator[Learner]:
        """All learners by name, page by page as they are needed."""
        cursor = None
        while True:
            page = await self._send(wire.list_learners(cursor, page_size), timeout, retries)
            for item in page.items:
                yield item
            if (cursor := page.next_cursor) is None:
                return

    async def update_learner(
        self, name: str, *, timeout: float | None = None, retries: int | None = None, **changes: Any
    ) -> Learner:
        """Change `paused`, `mode` or `reward`; nothing else can change without breaking the guarantee."""
        return await self._send(wire.update_learner(name, changes), timeout, retries)

    async def delete_learner(self, name: str, *, timeout: float | None = None, retries: int | None = None) -> None:
        """Delete a learner, its log and its snapshots."""
        await self._send(wire.delete_learner(name), timeout, retries)

    async def decide(
        self,
        learner: str,
        actions: Actions,
        context: Features = None,
        *,
        decision_id: str | None = None,
        top: int = 1,
        ranking: str = "complete",
        default_action: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Decision:
        """Which action to show."""
        asked = question(actions, context, decision_id, top, ranking)
        answers.check_default(asked, default_action)
        try:
            return await self._send(wire.decide(learner, asked), timeout, retries)
        except HoldfastError as problem:
            return answers.fallback(learner, asked, default_action, problem)

    async def decide_many(
        self,
        learner: str,
        decisions: Sequence[Question],
        *,
        default_actions: Sequence[str] | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> list[Decision]:
        """Up to 1,000 decisions at once, all or none; with `default_actions`, one for each, if the server is away."""
        asked = questions(decisions)
        answers.check_defaults(asked, default_actions)
        try:
            return await self._send(wire.decide_many(learner, asked), timeout, retries)
        except HoldfastError as problem:
            return answers.fallbacks(learner, asked, default_actions, problem)

    async def reward(
        self,
        learner: str,
        decision: Decision | str,
        value: float,
        *,
        action_id: str | None = None,
        source: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> RewardResult:
        """What a decision, or the decision of this id, was worth. A reward for a fallback is `ignored` and not sent."""
        said = claim(decision, value, action_id, source)
        if was_fallback(said):
            return answers.ignored(said)
        return await self._send(wire.reward(learner, said, idempotency_key), timeout, retries)

    async def reward_many(
        self,
        learner: str,
        rewards: Sequence[Claim],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> list[RewardResult]:
        """Up to 1,000 rewards, learned in this order. A bad one has its `problem`; the others count."""
        sent = [said for said in rewards if not was_fallback(said)]
        answered = await self._send(wire.reward_many(learner, sent, idempotency_key), timeout, retries) if sent else []
        return answers.merged(rewards, answered)

    def rewards_in_background(
        self,
        *,
        capacity: int = CAPACITY,
        when_full: WhenFull = "block",
        batch_max: int = BATCH_MAX,
        on_result: OnResult | None = None,
        close_within: float = CLOSE_WITHIN_S,
    ) -> AsyncRewardQueue:
        """A queue that delivers rewards in batches while the caller goes on; see `AsyncRewardQueue`."""
        outbox = Outbox(capacity, batch_max, when_full, on_result)
        queue = AsyncRewardQueue(lambda call, timeout: self._send(call, timeout, None), outbox, close_within)
        self._queues.append(queue)
        return queue

    async def decision(
        self, learner: str, decision_id: str, *, timeout: float | None = None, retries: int | None = None
    ) -> DecisionRecord:
        """A decision as the log has it, and everything that was said of it."""
        return await self._send(wire.decision(learner, decision_id), timeout, retries)

    async def observe(
        self,
        learner: str,
        events: Sequence[Observation],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> list[Observed]:
        """A warm start: up to 1,000 things that were shown and rewarded elsewhere, all or none."""
        return await self._send(wire.observe(learner, events, idempotency_key), timeout, retries)

    def episode(self, learner: str, episode_id: str | None = None) -> AsyncEpisode:
        """A session with an `mdp` learner; nothing is sent before it is started. See `Episode`."""
        return AsyncEpisode(self._send, learner, episode_id)

    async def diagnostics(
        self, learner: str, *, timeout: float | None = None, retries: int | None = None
    ) -> Diagnostics:
        """How a learner is doing."""
        return await self._send(wire.diagnostics(learner), timeout, retries)

    async def export_state(self, learner: str, *, timeout: float | None = None, retries: int | None = None) -> bytes:
        """The state as a file: versioned, checksummed, never pickle."""
        return await self._send(wire.export_state(learner), timeout, retries)

    async def import_state(
        self, learner: str, state: bytes, *, timeout: float | None = None, retries: int | None = None
    ) -> int:
        """Give an empty learner the state of another one of its shape; the position of the import in its log."""
        return await self._send(wire.import_state(learner, state), timeout, retries)

    async def log(
        self,
        learner: str,
        *,
        after: int = 0,
        page_size: int = 500,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> AsyncIterator[LogEvent]:
        """The events after a position, in order, page by page as they are needed."""
        cursor: str | None = str(after)
        while cursor is not None:
            page = await self._send(wire.log(learner, cursor, page_size), timeout, retries)
            for item in page.items:
                yield item
            cursor = page.next_cursor

    async def retract(
        self,
        learner: str,
        *,
        source: str | None = None,
        decision_ids: Sequence[str] | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Retraction:
        """Make the learner as if the rewards of this source, or of these decisions, had never come."""
        return await self._send(wire.retract(learner, source, decision_ids), timeout, retries)

    async def health(self, *, timeout: float | None = None, retries: int | None = None) -> Health:
        """Whether the server is ready: migrated, recovered, and its database answers."""
        return await self._send(wire.health(), timeout, retries)

    async def close(self) -> None:
        """Close the background queues, then the connections."""
        try:
            for queue in self._queues:
                await queue.close()
        finally:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, call: wire.Call[T], timeout: float | None, retries: int | None) -> T:
        """Attempts and pauses until there is an answer, or no more point in asking."""
        if timeout is None:
            timeout = self._decision_timeout if call.is_decision else self._timeout
        course = Course(limited(self._retries, retries), time.monotonic() + timeout, call.is_repeatable)
        while True:
            try:
                return answers.understood(await self._attempt(call, course), call.read)
            except HoldfastError as problem:
                pause = course.pause_s(problem, time.monotonic(), random.random())  # noqa: S311
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _attempt(self, call: wire.Call[T], course: Course) -> httpx.Response:
        timeout = course.begin_attempt(time.monotonic())
        try:
            response = await self._http.request(**call.request(), timeout=timeout)
        except httpx.RequestError as problem:
            raise answers.unreachable(problem) from problem
        answers.check(response, call.accepted(course.attempts))
        return response
