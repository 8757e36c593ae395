"""A learner in memory: its blueprint and the fold of its log so far. Only the writer touches it.

`LiveLearner` is what every kind of learner is to the host; `LiveBandit` is the one of decisions, and the one of
episodes is in `sessions/live.py`.
"""

import json
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from holdfast.arrays import Array
from holdfast.features import Encoder
from holdfast.hosting.blueprint import Blueprint, draw
from holdfast.hosting.open import OpenDecisions
from holdfast.hosting.pace import Pace
from holdfast.hosting.records import (
    ExpiryRecord,
    RewardRecord,
    shown_features,
    unpack_decision,
    unpack_expiry,
    unpack_observation,
    unpack_reward,
)
from holdfast.learners import BanditState, codec
from holdfast.learners.modes import Mode
from holdfast.store.database import Connection, Database
from holdfast.store.log import CHUNK, Event, events_after, events_at
from holdfast.store.snapshots import Snapshot

WEIGHT_EDGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass
class Tally:
    """What the log adds up to, beside the learner's state."""

    decisions: int = 0
    learned: int = 0
    pending: int = 0
    late: int = 0
    defaulted: int = 0
    ignored: int = 0
    observed: int = 0
    weights: list[int] = field(default_factory=lambda: [0] * len(WEIGHT_EDGES))  # the last counts weights of exactly 1

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))

    def copy(self) -> Self:
        """As it is now, for whoever reads it on another thread."""
        return replace(self, weights=list(self.weights))

    def count(self, outcome: str) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)

    def settle(self, learns: bool, told: int) -> None:
        """The end of a wait, of one shown action: what was pending is learned or not, or the default is."""
        self.pending -= told
        if learns and not told:
            self.defaulted += 1
        elif learns:
            self.learned += told
        else:
            self.ignored += told

    def weigh(self, weight: float) -> None:
        self.weights[bisect_right(WEIGHT_EDGES, weight) - 1] += 1


@dataclass
class LiveLearner(ABC):
    """`state` and `tally` are the fold of events 1 … `position`."""

    kind: ClassVar[str]
    settled_at_once: ClassVar[int] = 500  # waits that have ended

    id: int
    name: str
    spec: str
    blueprint: Any
    mode: Mode
    paused: bool
    state: Any
    position: int = 0
    tally: Tally = field(default_factory=Tally)
    snapshot_position: int = 0
    snapshot_at: float = 0.0  # when this process took one
    open: OpenDecisions = field(default_factory=OpenDecisions)
    is_new: bool = True  # and its row has not been held yet
    # Since this process took the learner up; neither is needed to go on.
    duplicates: int = 0  # rewards sent again, which the log does not hold
    expiries: int = 0
    pace: Pace = field(default_factory=Pace)
    asked_at: float = field(default_factory=time.monotonic)  # for the last time

    def redraw(self, spec: str) -> None:
        """What may change of a description has changed."""
        self.spec, self.blueprint = spec, draw(json.loads(spec))

    @abstractmethod
    def restore(self, state: bytes, tally: str) -> None:
        """Go on from a snapshot; `UnusableState` if it cannot be one, and then nothing has changed."""

    @abstractmethod
    def bring(self, state: bytes) -> None:
        """Go on from a state that was made elsewhere; `UnusableState` if it is of another shape."""

    @abstractmethod
    def next_events(self, connection: Connection) -> list[tuple[Event, list[Event]]]:
        """The events after the position, as many as are worth reading at once, each with what it takes to fold it."""

    def replay(self, connection: Connection, event: Event, related: list[Event]) -> None:
        """Fold an event that is in the log already; `related` came with it."""
        if event.position != self.position + 1:
            raise GapInLog(f"{self.name}: event {event.position} does not follow {self.position}")
        self.position = event.position
        self.apply(connection, event, related)

    @abstractmethod
    def apply(self, connection: Connection, event: Event, related: list[Event]) -> None:
        """The part of `replay` that is of the learner's kind."""

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """What diagnostics tell of the state."""

    def rewards(self) -> dict[str, int]:
        """What became of the rewards."""
        counted = {name: getattr(self.tally, name) for name in ("learned", "pending", "late", "defaulted", "ignored")}
        return {"duplicate": self.duplicates, **counted}


# Long work that is due for a learner, whose state may go on while it is done on another thread: it is given the
# database, and a way to have an operation performed.
Errand = Callable[[Database, Callable[[Any], Any]], None]


@dataclass
class LiveBandit(LiveLearner):
    """A learner of single decisions."""

    kind: ClassVar[str] = "bandit"

    blueprint: Blueprint
    state: BanditState
    _same: Encoder | None = None  # as the blueprint's

    def is_encoded_by(self, encoder: Encoder | None) -> bool:
        """Whether features that were made with it are as this learner wants them."""
        if encoder is not None and encoder is not self._same:
            if encoder != self.blueprint.encoder:
                return False
            self._same = encoder
        return True

    def redraw(self, spec: str) -> None:
        super().redraw(spec)
        self._same = None

    def learn(self, phi: Array, reward: float) -> float:
        """Fold one reward in; the weight it was given."""
        self.state, info = self.blueprint.bandit.update(self.state, phi, reward, donate=True)
        self.tally.weigh(info.weight)
        return info.weight

    def restore(self, state: bytes, tally: str) -> None:
        self.bring(state)
        self.tally = Tally.from_json(tally)

    def bring(self, state: bytes) -> None:
        self.state = codec.restore(state, self.blueprint.bandit)

    def numbers(self) -> dict[str, Any]:
        state, bandit = self.state, self.blueprint.bandit
        return {
            "rounds": state.rounds,
            "alpha": None if state.alpha == float("inf") else state.alpha,
            "beta": state.beta,
            "budget": self.blueprint.budget,
            "eluder_potential": state.potential,
            "noise": bandit.noise.level_of(state.noise),
        }

    def next_events(self, connection: Connection) -> list[tuple[Event, list[Event]]]:
        """With each reward and expiry, the decision it is about."""
        events = events_after(connection, self.id, self.position, CHUNK)
        wanted = {event.about for event in events if event.about is not None}
        near = {event.position: event for event in events if event.position in wanted}
        decisions = near | events_at(connection, self.id, [position for position in wanted if position not in near])
        return [(event, [] if event.about is None else [decisions[event.about]]) for event in events]

    def apply(self, connection: Connection, event: Event, related: list[Event]) -> None:
        if event.kind == "decision":
            self.tally.count("decisions")
        elif event.kind == "observation":
            told = unpack_observation(event.payload)
            self.tally.count("observed")
            self.learn(np.frombuffer(told.phi), told.reward)
        elif event.kind == "import":
            self.bring(event.payload)
        else:
            phi = shown_features(unpack_decision(related[0].payload))
            if event.kind == "reward":
                self._replay_reward(unpack_reward(event.payload), phi)
            else:
                self._replay_expiry(unpack_expiry(event.payload), phi)

    def _replay_reward(self, record: RewardRecord, phi: Array) -> None:
        self.tally.count(record.outcome)
        if record.reward is not None:
            self.learn(phi[record.shown], record.reward)

    def _replay_expiry(self, record: ExpiryRecord, phi: Array) -> None:
        told = record.told or [0] * len(record.rewards)
        for row, reward, count in zip(phi, record.rewards, told, strict=True):
            self.tally.settle(reward is not None, count)
            if reward is not None:
                self.learn(row, reward)


def snapshot_of(live: LiveLearner) -> Snapshot:
    return Snapshot(live.position, codec.encode(live.state), live.tally.to_json())


class GapInLog(Exception):
    """The log and the fold disagree: this learner must not go on."""
