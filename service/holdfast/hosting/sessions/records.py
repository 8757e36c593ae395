"""What the log keeps of sessions, as MessagePack. Fields are only ever added at the end.

| event     | id                  | record |
|-----------|---------------------|--------|
| `episode` | `e/<episode>`       | `EpisodeRecord`; all others of the episode are `about` its position |
| `step`    | `s/<n>/<episode>`   | `StepRecord` |
| `reward`  | `r/<n>/<episode>`   | `StepRewardRecord` |
| `finish`  | `f/<episode>`       | `FinishRecord` |
| `learned` | `l/<episode>`       | `LearnedRecord`: the end, also by time-out |
| `plan`    | `p/<position>`      | the plan itself, as `codec` writes it |
| `horizon` | `h/<position>`      | `HorizonRecord` |
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from holdfast.arrays import Array
from holdfast.learners.mdp import Transition


class EpisodeRecord(msgspec.Struct, array_like=True, frozen=True):
    """The start."""

    length: int


class StepRecord(msgspec.Struct, array_like=True, frozen=True):
    """A step: enough to answer it again, and the features of all candidates: the step before led to them."""

    ids: list[str]
    mean: bytes  # float64 (K,)
    bonus: bytes  # float64 (K,)
    shown: int
    phi: bytes  # float64 (K, d)
    request: bytes  # digest: the same step with another content is a conflict
    mode: str


class StepRewardRecord(msgspec.Struct, array_like=True, frozen=True):
    """A step's reward as it was sent, and inside."""

    value: float
    outcome: str  # pending, late or ignored
    reward: float  # of the episode's [0, 1]


class FinishRecord(msgspec.Struct, array_like=True, frozen=True):
    """The caller says that nothing more comes."""

    following: bytes = b""  # float64 (K, d): the candidates of the last state, if they were sent


class LearnedRecord(msgspec.Struct, array_like=True, frozen=True):
    """The end of an episode: what of it was learned, in order."""

    reason: str  # finished, complete or timeout
    taken: int  # steps there were
    told: int  # of them with a reward
    steps: list[int]  # that were learned
    rewards: list[float]  # of the episode's [0, 1]
    weights: list[float]
    defaulted: list[int]  # steps learned with the default
    ended: bool  # nothing could be earned after the last step


class HorizonRecord(msgspec.Struct, array_like=True, frozen=True):
    """From here on the state is all episodes folded anew for a longer horizon: with plans up to `folded_to`."""

    horizon: int
    folded_to: int


SessionRecord = EpisodeRecord | StepRecord | StepRewardRecord | FinishRecord | LearnedRecord | HorizonRecord
R = TypeVar("R", bound=msgspec.Struct)

_encoder = msgspec.msgpack.Encoder()


def pack(record: SessionRecord) -> bytes:
    return _encoder.encode(record)


def unpack(payload: bytes, kind: type[R]) -> R:
    return msgspec.msgpack.decode(payload, type=kind)


def candidates(record: StepRecord) -> Array:
    """φ of every candidate, `(K, d)`."""
    return np.frombuffer(record.phi).reshape(len(record.ids), -1)


def transitions(record: LearnedRecord, steps: Sequence[StepRecord], finish: FinishRecord | None) -> list[Transition]:
    """What an episode taught: the same when it is learned and when the log is folded."""
    last = _last_state(finish, steps)
    taught = []
    for number, reward in zip(record.steps, record.rewards, strict=True):
        here = steps[number - 1]
        is_last = number == len(steps)
        following = last if is_last else candidates(steps[number])
        taught.append(Transition(number, candidates(here)[here.shown], reward, following, is_last and record.ended))
    return taught


def _last_state(finish: FinishRecord | None, steps: Sequence[StepRecord]) -> Array | None:
    if finish is None or not finish.following:
        return None
    dimension = candidates(steps[0]).shape[1]
    following: Array = np.frombuffer(finish.following).reshape(-1, dimension)
    return following


def number_of(event_id: str) -> int:
    """The step that an id names."""
    return int(event_id.split("/", 2)[1])


def event_id(letter: str, episode_id: str, step: int | None = None) -> str:
    return f"{letter}/{episode_id}" if step is None else f"{letter}/{step}/{episode_id}"


def shown_arrays(record: StepRecord) -> tuple[Any, Any]:
    """Means and bonuses `(K,)`."""
    return np.frombuffer(record.mean), np.frombuffer(record.bonus)
