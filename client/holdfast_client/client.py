"""The client. `async_client.py` is its twin; what both do is in `wire`, `answers` and `retries`."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from holdfast_client import answers, wire
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
from holdfast_client.episode import Episode
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
from holdfast_client.reward_queue import RewardQueue
from holdfast_client.settings import DECISION_TIMEOUT_S, TIMEOUT_S, address

T = TypeVar("T")


class Client:
    """Talks to one Holdfast server. Threads may share it.

    The address and the key come from the arguments, or from `HOLDFAST_URL` and `HOLDFAST_API_KEY`. A time-out is for a
    whole call, retries included; decisions have a short one of their own. Every call takes `timeout` (seconds) and
    `retries` (how many at most) of its own.

    >>> from holdfast_client import Client
    >>> with Client() as client:
    ...     learner = client.create_learner("news", features={"kind": "dense", "context": 2, "action": 1})
    ...     decision = client.decide("news", {"sport": [0.3], "opera": [0.9]}, context=[0.1, 0.2])
    ...     result = client.reward("news", decision, 1.0)
    >>> decision.action.id in ("sport", "opera"), result.outcome
    (True, 'learned')
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_S,
        decision_timeout: float = DECISION_TIMEOUT_S,
        retries: Retries | int | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        where = address(base_url, api_key)
        self.base_url = where.base_url
        self._timeout, self._decision_timeout = timeout, decision_timeout
        self._retries = retries if isinstance(retries, Retries) else limited(Retries(), retries)
        self._http = httpx.Client(base_url=where.base_url, headers=where.headers, transport=transport)
        self._queues: list[RewardQueue] = []

    def create_learner(
        self,
        name: str,
        *,
        features: Mapping[str, Any],
        kind: str = "bandit",
        timeout: float | None = None,
        retries: int | None = None,
        **settings: Any,
    ) -> Learner:
        """Create a learner; `settings` are the contract's others, such as `corruption`. Again is no error.

        >>> client.create_learner("offers", features={"kind": "json"}, corruption={"budget": 20}).budget
        20.0
        """
        described = {"name": name, "kind": kind, "features": features, **settings}
        return self._send(wire.create_learner(described), timeout, retries)

    def get_learner(self, name: str, *, timeout: float | None = None, retries: int | None = None) -> Learner:
        """One learner.

        >>> client.get_learner("home").kind
        'bandit'
        """
        return self._send(wire.get_learner(name), timeout, retries)

    def list_learners(
        self, *, page_size: int = 100, timeout: float | None = None, retries: int | None = None
    ) -> Iterator[Learner]:
        """All learners by name, page by page as they are needed.

        >>> "home" in [learner.name for learner in client.list_learners()]
        True
        """
        cursor = None
        while True:
            page = self._send(wire.list_learners(cursor, page_size), timeout, retries)
            yield from page.items
            if (cursor := page.next_cursor) is None:
                return

    def update_learner(
        self, name: str, *, timeout: float | None = None, retries: int | None = None, **changes: Any
    ) -> Learner:
        """Change `paused`, `mode` or `reward`; nothing else can change without breaking the guarantee.

        >>> client.update_learner("home", mode="frozen", reward={"wait_s": 60}).mode
        'frozen'
        """
        return self._send(wire.update_learner(name, changes), timeout, retries)

    def delete_learner(self, name: str, *, timeout: float | None = None, retries: int | None = None) -> None:
        """Delete a learner, its log and its snapshots.

        >>> client.delete_learner("home")
        """
        self._send(wire.delete_learner(name), timeout, retries)

    def decide(
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
        """Which action to show.

        With `default_action`, a server that cannot be reached in time is no error: the answer is that action, and says
        `fallback=True`. Nothing was learned from it and nothing will be: rewards for it are ignored.

        >>> decision = client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2], default_action="a")
        >>> decision.action.id in ("a", "b"), decision.fallback
        (True, False)
        >>> decision.ranking[0].id == decision.action.id, decision.ranking[0].probability
        (True, 1.0)
        """
        asked = question(actions, context, decision_id, top, ranking)
        answers.check_default(asked, default_action)
        try:
            return self._send(wire.decide(learner, asked), timeout, retries)
        except HoldfastError as problem:
            return answers.fallback(learner, asked, default_action, problem)

    def decide_many(
        self,
        learner: str,
        decisions: Sequence[Question],
        *,
        default_actions: Sequence[str] | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> list[Decision]:
        """Up to 1,000 decisions at once, all or none; with `default_actions`, one for each, if the server is away.

        >>> many = client.decide_many("home", [{"actions": {"a": [0.3], "b": [0.9]}, "context": [0.1, 0.2]}] * 3)
        >>> len({decision.decision_id for decision in many})
        3
        """
        asked = questions(decisions)
        answers.check_defaults(asked, default_actions)
        try:
            return self._send(wire.decide_many(learner, asked), timeout, retries)
        except HoldfastError as problem:
            return answers.fallbacks(learner, asked, default_actions, problem)

    def reward(
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
        """What a decision, or the decision of this id, was worth. A reward for a fallback is `ignored` and not sent.

        >>> decision = client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2])
        >>> client.reward("home", decision, 1.0, source="checkout").outcome
        'learned'
        >>> client.reward("home", decision.decision_id, 1.0).outcome
        'duplicate'
        """
        said = claim(decision, value, action_id, source)
        if was_fallback(said):
            return answers.ignored(said)
        return self._send(wire.reward(learner, said, idempotency_key), timeout, retries)

    def reward_many(
        self,
        learner: str,
        rewards: Sequence[Claim],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> list[RewardResult]:
        """Up to 1,000 rewards, learned in this order. A bad one has its `problem`; the others count.

        >>> first = client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2]).decision_id
        >>> said = [{"decision_id": first, "value": 0.5}, {"decision_id": "nobody's", "value": 0.5}]
        >>> [result.outcome for result in client.reward_many("home", said)]
        ['learned', 'refused']
        """
        sent = [said for said in rewards if not was_fallback(said)]
        answered = self._send(wire.reward_many(learner, sent, idempotency_key), timeout, retries) if sent else []
        return answers.merged(rewards, answered)

    def rewards_in_background(
        self,
        *,
        capacity: int = CAPACITY,
        when_full: WhenFull = "block",
        batch_max: int = BATCH_MAX,
        on_result: OnResult | None = None,
        close_within: float = CLOSE_WITHIN_S,
    ) -> RewardQueue:
        """A queue that delivers rewards in batches while the caller goes on; see `RewardQueue`.

        When `capacity` rewards wait, `add` blocks or drops, as `when_full` says. `on_result(learner, result)` is called
        for every answer. Closing takes up to `close_within` seconds to deliver what waits.
        """
        outbox = Outbox(capacity, batch_max, when_full, on_result)
        queue = RewardQueue(lambda call, timeout: self._send(call, timeout, None), outbox, close_within)
        self._queues.append(queue)
        return queue

    def decision(
        self, learner: str, decision_id: str, *, timeout: float | None = None, retries: int | None = None
    ) -> DecisionRecord:
        """A decision as the log has it, and everything that was said of it.

        >>> decision = client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2])
        >>> record = client.decision("home", decision.decision_id)
        >>> record.action == decision.action.id, record.rewards
        (True, ())
        """
        return self._send(wire.decision(learner, decision_id), timeout, retries)

    def observe(
        self,
        learner: str,
        events: Sequence[Observation],
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> list[Observed]:
        """A warm start: up to 1,000 things that were shown and rewarded elsewhere, all or none.

        >>> seen = {"context": [0.1, 0.2], "actions": {"a": [0.3]}, "action_id": "a", "value": 1.0}
        >>> [event.outcome for event in client.observe("home", [seen])]
        ['learned']
        """
        return self._send(wire.observe(learner, events, idempotency_key), timeout, retries)

    def episode(self, learner: str, episode_id: str | None = None) -> Episode:
        """A session with an `mdp` learner; nothing is sent before it is started. See `Episode`."""
        return Episode(self._send, learner, episode_id)

    def diagnostics(self, learner: str, *, timeout: float | None = None, retries: int | None = None) -> Diagnostics:
        """How a learner is doing.

        >>> client.diagnostics("home").rounds
        0
        """
        return self._send(wire.diagnostics(learner), timeout, retries)

    def export_state(self, learner: str, *, timeout: float | None = None, retries: int | None = None) -> bytes:
        """The state as a file: versioned, checksummed, never pickle.

        >>> state = client.export_state("home")
        >>> twin = client.create_learner("twin", features=client.get_learner("home").features)
        >>> client.import_state("twin", state)
        1
        """
        return self._send(wire.export_state(learner), timeout, retries)

    def import_state(
        self, learner: str, state: bytes, *, timeout: float | None = None, retries: int | None = None
    ) -> int:
        """Give an empty learner the state of another one of its shape; the position of the import in its log."""
        return self._send(wire.import_state(learner, state), timeout, retries)

    def log(
        self,
        learner: str,
        *,
        after: int = 0,
        page_size: int = 500,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Iterator[LogEvent]:
        """The events after a position, in order, page by page as they are needed.

        >>> decision = client.decide("home", {"a": [0.3], "b": [0.9]}, context=[0.1, 0.2])
        >>> [(event.position, event.kind) for event in client.log("home")]
        [(1, 'decision')]
        """
        cursor: str | None = str(after)
        while cursor is not None:
            page = self._send(wire.log(learner, cursor, page_size), timeout, retries)
            yield from page.items
            cursor = page.next_cursor

    def retract(
        self,
        learner: str,
        *,
        source: str | None = None,
        decision_ids: Sequence[str] | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Retraction:
        """Make the learner as if the rewards of this source, or of these decisions, had never come."""
        return self._send(wire.retract(learner, source, decision_ids), timeout, retries)

    def health(self, *, timeout: float | None = None, retries: int | None = None) -> Health:
        """Whether the server is ready: migrated, recovered, and its database answers.

        >>> client.health().ready
        True
        """
        return self._send(wire.health(), timeout, retries)

    def close(self) -> None:
        """Close the background queues, then the connections."""
        try:
            for queue in self._queues:
                queue.close()
        finally:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _send(self, call: wire.Call[T], timeout: float | None, retries: int | None) -> T:
        """Attempts and pauses until there is an answer, or no more point in asking."""
        if timeout is None:
            timeout = self._decision_timeout if call.is_decision else self._timeout
        course = Course(limited(self._retries, retries), time.monotonic() + timeout, call.is_repeatable)
        while True:
            try:
                return answers.understood(self._attempt(call, course), call.read)
            except HoldfastError as problem:
                pause = course.pause_s(problem, time.monotonic(), random.random())  # noqa: S311
                if pause is None:
                    raise
            time.sleep(pause)

    def _attempt(self, call: wire.Call[T], course: Course) -> httpx.Response:
        timeout = course.begin_attempt(time.monotonic())
        try:
            response = self._http.request(**call.request(), timeout=timeout)
        except httpx.RequestError as problem:
            raise answers.unreachable(problem) from problem
        answers.check(response, call.accepted(course.attempts))
        return response
