"""A request with an Idempotency-Key: done once, answered the same however often it is sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from holdfast.errors import Conflict, HoldfastError
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import Needs, Operation, perform_alike, runs_of_strangers
from holdfast.store.idempotency import FirstAnswer
from holdfast.store.log import Transaction


class Rendered(NamedTuple):
    """An answer as it goes over the wire."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Once:
    """`render` makes the operation's answer into bytes, so that the same bytes can be given again."""

    acts_on: ClassVar[type] = LiveLearner

    operation: Operation
    scope: str
    key: str
    request_digest: bytes
    render: Callable[[Any], Rendered]

    @property
    def learner(self) -> str:
        return self.operation.learner

    @property
    def size(self) -> int:
        return self.operation.size

    @property
    def bytes_held(self) -> int:
        return self.operation.bytes_held

    def name(self, live: LiveLearner) -> tuple[str, str]:
        """What was answered for a learner that is gone is no answer for a new one of its name."""
        return f"{live.id} {self.scope}", self.key

    def needs(self, live: LiveLearner) -> Needs:
        return self.operation.needs(live)._replace(answers=[self.name(live)])

    @classmethod
    def perform_all(
        cls, operations: Sequence["Once"], live: LiveLearner, transaction: Transaction, now: int
    ) -> list[Rendered | HoldfastError]:
        answers: list[Rendered | HoldfastError] = []
        for run in runs_of_strangers(operations, lambda once: [f"{once.scope} {once.key}"]):
            answers += _answer_run(run, live, transaction, now)
        return answers


def _answer_run(
    run: list[Once], live: LiveLearner, transaction: Transaction, now: int
) -> list[Rendered | HoldfastError]:
    """Requests with different keys: those that are new are done together with their like."""
    answers = [_repeat(once, live, transaction) for once in run]
    new = [index for index, answer in enumerate(answers) if answer is None]
    for _, alike in groupby(new, key=lambda index: type(run[index].operation)):
        indexes = list(alike)
        done = perform_alike([run[index].operation for index in indexes], live, transaction, now)
        for index, outcome in zip(indexes, done, strict=True):
            answers[index] = _remembered(run[index], outcome, live, transaction, now)
    return [answer for answer in answers if answer is not None]


def _repeat(once: Once, live: LiveLearner, transaction: Transaction) -> Rendered | HoldfastError | None:
    first = transaction.recall(*once.name(live))
    if first is None:
        return None
    return repeated(first, once.request_digest)


def repeated(first: FirstAnswer, request_digest: bytes) -> Rendered | Conflict:
    """The first answer again, if the same is asked."""
    if first.request_digest != request_digest:
        return Conflict("idempotency-key-reused", "this Idempotency-Key was used with another body")
    return Rendered(first.status, first.answer)


def _remembered(
    once: Once, outcome: Any, live: LiveLearner, transaction: Transaction, now: int
) -> Rendered | HoldfastError:
    """The rendered answer, kept with its effect; a refusal had none and is not kept."""
    if isinstance(outcome, HoldfastError):
        return outcome
    try:
        answer = once.render(outcome)
    except HoldfastError as problem:
        return problem
    transaction.remember(*once.name(live), FirstAnswer(once.request_digest, answer.status, answer.body), now)
    return answer
