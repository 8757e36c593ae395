"""A learner in memory: its blueprint and the fold of its log so far. Owned by one thread."""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.hosting.blueprint import Blueprint
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


class Tally(NamedTuple):
    """What the log adds up to, beside the learner's state."""

    decisions: int = 0
    learned: int = 0
    pending: int = 0
    late: int = 0
    defaulted: int = 0
    ignored: int = 0
    observed: int = 0
    weights: tuple[int, ...] = (0,) * len(WEIGHT_EDGES)  # the last counts weights of exactly 1

    def to_json(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> "Tally":
        values = json.loads(text)
        return cls(**{**values, "weights": tuple(values["weights"])})

    def counting(self, name: str) -> "Tally":
        return self._replace(**{name: getattr(self, name) + 1})

    def weighing(self, weight: float) -> "Tally":
        place = int(np.searchsorted(WEIGHT_EDGES, weight, side="right")) - 1
        counts = list(self.weights)
        counts[place] += 1
        return self._replace(weights=tuple(counts))


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

    def learn(self, phi: Array, reward: float) -> float:
        """Fold one reward in; the weight it was given."""
        self.state, info = self.blueprint.bandit.update(self.state, phi, reward, donate=True)
        self.tally = self.tally.weighing(info.weight)
        return info.weight

    def replay(self, event: Event, decision: Event | None) -> None:
        """Fold an event that is in the log already; `decision` is the one it is about."""
        if event.position != self.position + 1:
            raise GapInLog(f"{self.name}: event {event.position} does not follow {self.position}")
        self.position = event.position
        if event.kind == "decision":
            self.tally = self.tally.counting("decisions")
        elif event.kind == "observation":
            told = unpack_observation(event.payload)
            self.tally = self.tally.counting("observed")
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
        self.tally = self.tally.counting(record.outcome)
        if record.reward is not None:
            self.learn(phi[record.shown], record.reward)

    def _replay_expiry(self, record: ExpiryRecord, phi: Array) -> None:
        for row, reward in zip(phi, record.rewards, strict=True):
            if reward is not None:
                self.tally = self.tally.counting("defaulted")
                self.learn(row, reward)


class GapInLog(Exception):
    """The log and the fold disagree: this learner must not go on."""
