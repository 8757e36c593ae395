"""Reading a live learner on the thread that owns it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from holdfast.hosting.live import LiveLearner, Tally
from holdfast.hosting.operation import OneByOne
from holdfast.learners import codec
from holdfast.store.log import Transaction


class Sight(NamedTuple):
    """A learner at one position."""

    position: int
    numbers: dict[str, Any]
    tally: Tally
    rewards: dict[str, int]


@dataclass(frozen=True)
class Look(OneByOne):
    """Numbers for diagnostics."""

    learner: str

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> Sight:
        return Sight(live.position, live.numbers(), live.tally.copy(), live.rewards())


@dataclass(frozen=True)
class Export(OneByOne):
    """The state as a file."""

    learner: str

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> tuple[int, bytes]:
        return live.position, codec.encode(live.state)
