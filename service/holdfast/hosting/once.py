"""A request with an Idempotency-Key: done once, answered the same however often it is sent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.errors import Conflict
from holdfast.hosting.host import Operation
from holdfast.hosting.live import LiveLearner
from holdfast.store import idempotency
from holdfast.store.idempotency import FirstAnswer
from holdfast.store.log import Transaction


class Rendered(NamedTuple):
    """An answer as it goes over the wire."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Once:
    """`render` makes the operation's answer into bytes, so that the same bytes can be given again."""

    operation: Operation
    scope: str
    key: str
    request_digest: bytes
    render: Callable[[Any], Rendered]

    @property
    def learner(self) -> str:
        return self.operation.learner

    def event_ids(self) -> list[str]:
        return self.operation.event_ids()

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> Rendered:
        first = idempotency.recall(transaction.connection, self.scope, self.key)
        if first is not None:
            if first.request_digest != self.request_digest:
                raise Conflict("idempotency-key-reused", "this Idempotency-Key was used with another body")
            return Rendered(first.status, first.answer)
        answer = self.render(self.operation.perform(live, transaction, now))
        first = FirstAnswer(self.request_digest, answer.status, answer.body)
        idempotency.remember(transaction.connection, self.scope, self.key, first, now)
        return answer
