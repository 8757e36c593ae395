"""Reading a live learner on the thread that owns it."""

from dataclasses import dataclass
from typing import NamedTuple

from holdfast.hosting.live import LiveLearner, Tally
from holdfast.hosting.operation import OneByOne
from holdfast.learners import BanditState, codec
from holdfast.store.log import Transaction


class Sight(NamedTuple):
    """A learner at one position."""

    position: int
    state: BanditState
    tally: Tally
    noise: float
    duplicates: int  # since this process took the learner up


@dataclass(frozen=True)
class Look(OneByOne):
    """Numbers for diagnostics; `state` shares its arrays with the learner, so only its numbers may be used."""

    learner: str

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> Sight:
        noise = live.blueprint.bandit.noise.level_of(live.state.noise)
        return Sight(live.position, live.state, live.tally.copy(), noise, live.duplicates)


@dataclass(frozen=True)
class Export(OneByOne):
    """The state as a file."""

    learner: str

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> tuple[int, bytes]:
        return live.position, codec.encode(live.state)
