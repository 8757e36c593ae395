"""What the log keeps of each event, as MessagePack. Fields are only ever added at the end."""

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from holdfast.arrays import Array
from holdfast.learners import Bandit, Decision, modes


class DecisionRecord(msgspec.Struct, array_like=True, frozen=True):
    """A decision: enough to answer it again, and the features of what was shown, to learn from."""

    ids: list[str]
    mean: bytes  # float64 (K,)
    bonus: bytes  # float64 (K,)
    shown: list[int]  # indexes into ids, the chosen one first
    phi: bytes  # float64 (len(shown), d)
    request: bytes  # digest: the same id with another content is a conflict
    mode: str


class RewardRecord(msgspec.Struct, array_like=True, frozen=True):
    """A reward as it was sent, and what became of it."""

    value: float
    shown: int  # index into the decision's shown
    outcome: str  # learned, pending, late or ignored
    reward: float | None = None  # what was learned, in [0, 1]
    weight: float | None = None


class ExpiryRecord(msgspec.Struct, array_like=True, frozen=True):
    """The end of a wait: for each shown action the reward learned then, or None."""

    rewards: list[float | None]
    weights: list[float | None]
    told: list[int] | None = None  # how many pending rewards that is made of, 0 for the default; older ones do not say


class ObservationRecord(msgspec.Struct, array_like=True, frozen=True):
    """Something shown and rewarded elsewhere."""

    phi: bytes  # float64 (d,)
    action_id: str
    value: float
    reward: float  # in [0, 1]
    weight: float
    probability: float | None = None


_encoder = msgspec.msgpack.Encoder()
Record = DecisionRecord | RewardRecord | ExpiryRecord | ObservationRecord


def pack(record: Record) -> bytes:
    return _encoder.encode(record)


def pack_decisions(*columns: Iterable[Any]) -> list[bytes]:
    """Many `DecisionRecord`s, by their fields: in MessagePack a tuple of them is the same, and costs less to make."""
    return list(map(_encoder.encode, zip(*columns, strict=True)))


def unpack_decision(payload: bytes) -> DecisionRecord:
    return msgspec.msgpack.decode(payload, type=DecisionRecord)


def unpack_reward(payload: bytes) -> RewardRecord:
    return msgspec.msgpack.decode(payload, type=RewardRecord)


def unpack_expiry(payload: bytes) -> ExpiryRecord:
    return msgspec.msgpack.decode(payload, type=ExpiryRecord)


def unpack_observation(payload: bytes) -> ObservationRecord:
    return msgspec.msgpack.decode(payload, type=ObservationRecord)


def shown_features(record: DecisionRecord) -> Array:
    """φ of what was shown, `(shown, d)`."""
    return np.frombuffer(record.phi).reshape(len(record.shown), -1)


def replayed(record: DecisionRecord, bandit: Bandit[Any], position: int) -> Decision:
    """The decision as it was made: ranking and probabilities follow from mean, bonus and position."""
    top = len(record.shown)
    decision = bandit.rank(np.frombuffer(record.mean), np.frombuffer(record.bonus), position, top)
    return modes.answered(modes.as_mode(record.mode), decision)
