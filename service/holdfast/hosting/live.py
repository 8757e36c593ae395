"""A learner in memory: its blueprint and the fold of its log so far. Owned by one thread."""

import json
from bisect import bisect_right
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from holdfast.arrays import Array
from holdfast.hosting.blueprint import Blueprint
from holdfast.hosting.open import OpenDecisions
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
from holdfast.store.log import Event

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
    def from_json(cls, text: str) -> "Tally":
        return cls(**json.loads(text))

    def copy(self) -> "Tally":
        """As it is now, for whoever reads it on another thread."""
        return replace(self, weights=list(self.weights))

    def count(self, outcome: str) -> None:
        setattr(self, outcome, getattr(self, outcome) + 1)

    def weigh(self, weight: float) -> None:
        self.weights[bisect_right(WEIGHT_EDGES, weight) - 1] += 1


@dataclass
class LiveLearner:
    """`state` and `tally` are the fold of events 1 … `position`."""

    id: int
    name: str
    spec: str
    blueprint: Blueprint
    mode: Mode
    paused: bool
    state: BanditState
    position: int = 0
    tally: Tally = field(default_factory=Tally)
    snapshot_position: int = 0
    open: OpenDecisions = field(default_factory=OpenDecisions)
    # Since this process took the learner up; neither is needed to go on.
    duplicates: int = 0  # rewards sent again, which the log does not hold
    expiries: int = 0

    def learn(self, phi: Array, reward: float) -> float:
        """Fold one reward in; the weight it was given."""
        self.state, info = self.blueprint.bandit.update(self.state, phi, reward, donate=True)
        self.tally.weigh(info.weight)
        return info.weight

    def replay(self, event: Event, decision: Event | None) -> None:
        """Fold an event that is in the log already; `decision` is the one it is about."""
        if event.position != self.position + 1:
            raise GapInLog(f"{self.name}: event {event.position} does not follow {self.position}")
        self.position = event.position
        if event.kind == "decision":
            self.tally.count("decisions")
        elif event.kind == "observation":
            told = unpack_observation(event.payload)
            self.tally.count("observed")
            self.learn(np.frombuffer(told.phi), told.reward)
        elif event.kind == "import":
            self.state = codec.restore(event.payload, self.blueprint.bandit)
        else:
            assert decision is not None, "a reward or an expiry is about a decision in the same log"
            phi = shown_features(unpack_decision(decision.payload))
            if event.kind == "reward":
                self._replay_reward(unpack_reward(event.payload), phi)
            else:
                self._replay_expiry(unpack_expiry(event.payload), phi)

    def _replay_reward(self, record: RewardRecord, phi: Array) -> None:
        self.tally.count(record.outcome)
        if record.reward is not None:
            self.learn(phi[record.shown], record.reward)

    def _replay_expiry(self, record: ExpiryRecord, phi: Array) -> None:
        for row, reward in zip(phi, record.rewards, strict=True):
            if reward is not None:
                self.tally.count("defaulted")
                self.learn(row, reward)


class GapInLog(Exception):
    """The log and the fold disagree: this learner must not go on."""
