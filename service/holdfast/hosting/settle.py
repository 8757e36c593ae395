"""The ends of waits that nobody asks about, as the sweep finds them."""

from dataclasses import dataclass

from holdfast.hosting.kinds import settle
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import OneByOne
from holdfast.store.log import Transaction, due, events_at


@dataclass(frozen=True)
class Settle(OneByOne):
    """Settle what has waited long enough, a bounded part of it."""

    learner: str

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> bool:
        """Whether there may be more."""
        if live.paused:
            return False
        transaction.flush()  # what is settled already, in the same batch, is not settled again
        rows = due(transaction.connection, live.id, now, live.settled_at_once)
        waits = events_at(transaction.connection, live.id, [row.position for row in rows])
        settle(live, transaction, [waits[row.position] for row in rows], now)
        return len(rows) == live.settled_at_once
