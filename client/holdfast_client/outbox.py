"""What waits in a background queue, and what became of the rest: the bookkeeping that both queues share. No I/O."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from holdfast_client import wire
from holdfast_client.bodies import Claim, encode, new_id, was_fallback
from holdfast_client.errors import HoldfastError, InvalidRequest, Problem, Refused, TooLarge
from holdfast_client.models import RewardResult
from holdfast_client.retries import Retries

CAPACITY = 10_000
BATCH_MAX = 500
CLOSE_WITHIN_S = 30.0
DELIVER_WITHIN_S = 10.0  # retries included; the next delivery is the same request again
DELIVER_WITHIN_S_MIN = 0.1
BETWEEN_DELIVERIES = Retries(first_pause_s=0.1, pause_s_max=2.0)

logger = logging.getLogger("holdfast_client")

WhenFull = Literal["block", "drop"]
OnResult = Callable[[str, RewardResult], None]


@dataclass(frozen=True)
class Counts:
    """What became of everything that was added: `added` = `delivered` + `refused` + `waiting`."""

    added: int = 0
    delivered: int = 0  # acknowledged by the server, so durable
    refused: int = 0  # by the server, for good
    dropped: int = 0  # never added, because the queue was full
    ignored: int = 0  # never added, because they were for fallbacks
    waiting: int = 0


class Waiting(NamedTuple):
    """One reward, written as it will be sent."""

    decision_id: str
    content: bytes


@dataclass(frozen=True)
class Batch:
    """Rewards of one learner on their way. The key stays with them until the server has answered."""

    learner: str
    rewards: Sequence[Waiting]
    key: str = field(default_factory=new_id)

    def call(self) -> "wire.Call[list[RewardResult]]":
        names = [reward.decision_id for reward in self.rewards]
        return wire.reward_batch(self.learner, names, [reward.content for reward in self.rewards], self.key)

    def halves(self) -> tuple["Batch", "Batch"]:
        """Two batches, each with a key of its own: a refused one changed nothing."""
        middle = len(self.rewards) // 2
        return Batch(self.learner, self.rewards[:middle]), Batch(self.learner, self.rewards[middle:])

    def is_to_be_split(self, problem: HoldfastError) -> bool:
        """One reward can still spoil the whole: too large, nested too deep, or merely bad for a server of before."""
        return isinstance(problem, InvalidRequest | TooLarge) and len(self.rewards) > 1

    def refused(self, problem: HoldfastError) -> list[RewardResult]:
        """Every reward with the problem of the whole."""
        told = problem.problem if isinstance(problem, Refused) else Problem(0, "not-sent", "Not sent", str(problem))
        return [RewardResult(reward.decision_id, "refused", problem=told) for reward in self.rewards]


@dataclass
class Outbox:
    """A bounded queue for each learner, in order; the learners take turns."""

    capacity: int = CAPACITY
    batch_max: int = BATCH_MAX
    when_full: WhenFull = "block"
    on_result: OnResult | None = None
    counts: Counts = Counts()
    _queues: dict[str, deque[Waiting]] = field(default_factory=dict)
    _queued: int = 0

    def __post_init__(self) -> None:
        if self.capacity < 1 or not 1 <= self.batch_max <= 1_000 or self.when_full not in ("block", "drop"):
            raise ValueError("capacity is at least 1, batch_max 1 to 1,000, and when_full block or drop")

    def is_full(self) -> bool:
        return self.counts.waiting >= self.capacity

    def is_idle(self) -> bool:
        """Whether everything has its answer."""
        return self.counts.waiting == 0

    def has_queued(self) -> bool:
        return self._queued > 0

    def put(self, learner: str, claim: Claim) -> bool:
        """Whether it was added: not if it is for a fallback, and not if the queue is full."""
        if was_fallback(claim):
            self._count(ignored=1)
            return False
        content = encode(claim)  # whatever cannot be sent is the caller's to know, now
        if self.is_full():
            self._count(dropped=1)
            return False
        self._queues.setdefault(learner, deque()).append(Waiting(claim["decision_id"], content))
        self._queued += 1
        self._count(added=1, waiting=1)
        return True

    def take(self) -> Batch:
        """The next batch; there must be something queued."""
        learner = next(iter(self._queues))
        queue = self._queues.pop(learner)
        taken = [queue.popleft() for _ in range(min(self.batch_max, len(queue)))]
        if queue:
            self._queues[learner] = queue
        self._queued -= len(taken)
        return Batch(learner, taken)

    def settle(self, batch: Batch, results: Sequence[RewardResult]) -> None:
        """The server has answered for these."""
        refused = sum(result.problem is not None for result in results)
        self._count(waiting=-len(results), refused=refused, delivered=len(results) - refused)

    def tell(self, batch: Batch, results: Sequence[RewardResult]) -> None:
        """Hand the results to whoever asked for them."""
        if self.on_result is None:
            return
        for result in results:
            try:
                self.on_result(batch.learner, result)
            except Exception:  # theirs; the other rewards must not suffer
                logger.exception("on_result failed")

    def _count(self, **more: int) -> None:
        self.counts = Counts(**{name: value + more.get(name, 0) for name, value in vars(self.counts).items()})


def delivery_timeout_s(give_up_at: float, now: float) -> float:
    """How long one delivery may take.

    >>> delivery_timeout_s(float("inf"), 0.0), delivery_timeout_s(3.0, 0.0)
    (10.0, 3.0)
    """
    return max(DELIVER_WITHIN_S_MIN, min(DELIVER_WITHIN_S, give_up_at - now))
