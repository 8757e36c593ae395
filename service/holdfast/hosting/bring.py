"""What a learner can be given from elsewhere: complete observations from old logs, or a whole state."""

import hashlib
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from holdfast.arrays import Array
from holdfast.errors import Conflict, InvalidInput
from holdfast.hosting.live import LiveBandit, LiveLearner
from holdfast.hosting.operation import OneByOne
from holdfast.hosting.records import ObservationRecord, pack
from holdfast.store import audit
from holdfast.store.audit import Actor
from holdfast.store.log import Event, Transaction


class Observation(NamedTuple):
    """Something that was shown and rewarded before Holdfast was asked."""

    phi: Array  # (d,)
    action_id: str
    value: float
    probability: float | None
    source: str | None


class Learned(NamedTuple):
    outcome: str
    weight: float
    position: int


@dataclass(frozen=True)
class Observe(OneByOne):
    """Warm start: learn observations in the order given, all or none."""

    acts_on: ClassVar[type] = LiveBandit

    learner: str
    observations: list[Observation]

    @property
    def size(self) -> int:
        return len(self.observations)

    @property
    def bytes_held(self) -> int:
        return sum(observation.phi.nbytes for observation in self.observations)

    def perform(self, live: LiveBandit, transaction: Transaction, now: int) -> list[Learned]:
        if live.paused or live.mode == "frozen":
            raise Conflict("paused", "the learner is paused or frozen")
        rewards = [_scaled(live, index, observation) for index, observation in enumerate(self.observations)]
        return [_learn(live, transaction, o, r, now) for o, r in zip(self.observations, rewards, strict=True)]


def _scaled(live: LiveBandit, index: int, told: Observation) -> float:
    try:
        return live.blueprint.reward.scaled(told.value)
    except InvalidInput as problem:
        raise problem.within(f"/events/{index}") from None


def _learn(live: LiveBandit, transaction: Transaction, told: Observation, reward: float, now: int) -> Learned:
    weight = live.learn(told.phi, reward)
    live.position += 1
    live.tally.count("observed")
    record = ObservationRecord(told.phi.tobytes(), told.action_id, told.value, reward, weight, told.probability)
    event_id = f"o/{live.position}"
    transaction.append(live.id, Event(live.position, "observation", event_id, now, told.source, None, pack(record)))
    return Learned("learned", weight, live.position)


@dataclass(frozen=True)
class Import(OneByOne):
    """A whole state, into a learner that has seen nothing."""

    learner: str
    state: bytes
    by: Actor

    @property
    def bytes_held(self) -> int:
        return len(self.state)

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> int:
        """The position of the import in the log."""
        if live.position != 0:
            raise Conflict("learner-not-empty", "a state can be imported only into a learner that has seen nothing")
        live.bring(self.state)
        live.position = 1
        transaction.append(live.id, Event(1, "import", "i/1", now, None, None, bytes(self.state)))
        digest = hashlib.sha256(self.state).hexdigest()
        audit.note(transaction.connection, self.by, "state imported", live.name, now, sha256=digest)
        return live.position
