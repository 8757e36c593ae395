"""What the server answers, as frozen values. A field that this version does not know is kept in `extra`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from holdfast_client.errors import HoldfastError, Problem

FALLBACK_PREFIX = "fallback-"  # of the id of a decision that the server never made

T = TypeVar("T")
_OURS = {"ours": True}  # a field that the SDK fills in, never the server


def _rest() -> Any:
    return field(default_factory=dict, metadata=_OURS, hash=False)


@dataclass(frozen=True)
class Learner:
    """A learner as the server describes it."""

    name: str
    kind: str
    features: Mapping[str, Any]
    function: Mapping[str, Any] = field(default_factory=dict)
    reward: Mapping[str, Any] = field(default_factory=dict)
    corruption: Mapping[str, Any] = field(default_factory=dict)
    horizon: int | None = None
    mode: str = "online"
    paused: bool = False
    position: int = 0
    dimension: int | None = None
    budget: float | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Chosen:
    """The action to show: its id, and its place in the request, from 0."""

    id: str
    index: int
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Ranked:
    """One candidate as the learner sees it: `score` = `mean` + `bonus`."""

    id: str
    score: float
    mean: float
    bonus: float
    probability: float
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Decision:
    """A decision, durable on the server, or, with `fallback`, the default action because the server could not be asked.

    A fallback is not in the learner's log: `problem` says why, and rewards for it, or for its id, go nowhere.
    """

    decision_id: str
    learner: str
    action: Chosen
    position: int | None
    extra: Mapping[str, Any] = _rest()
    fallback: bool = field(default=False, metadata=_OURS)
    problem: HoldfastError | None = field(default=None, metadata=_OURS, compare=False)
    _ranking: Sequence[Mapping[str, Any]] = field(default=(), repr=False, hash=False, metadata=_OURS)

    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """The candidates, best first; built when asked for, since most callers only want the action."""
        return tuple(read(Ranked, row) for row in self._ranking)


@dataclass(frozen=True)
class RewardResult:
    """What became of a reward.

    `outcome` is the server's `learned`, `pending`, `duplicate`, `late` or `ignored`, or, in a batch, `refused`: then
    `problem` says why, and the other rewards count.
    """

    decision_id: str
    outcome: str
    weight: float | None = None
    position: int | None = None
    problem: Problem | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class RewardRecord:
    """One reward of a decision as the log has it."""

    decision_id: str
    value: float | None = None
    source: str | None = None
    outcome: str | None = None
    weight: float | None = None
    position: int | None = None
    at: float | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class DecisionRecord:
    """A decision as the log has it: what could be shown, what was, and what was said of it."""

    decision_id: str
    action: str
    shown: Sequence[str]
    position: int
    at: float | None = None
    rewards: tuple[RewardRecord, ...] = ()
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Observed:
    """What became of one observation of a warm start."""

    outcome: str
    weight: float | None = None
    position: int | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Step:
    """One step of an episode: what to do in this state. Steps count from 1."""

    step: int
    action: Chosen
    position: int | None = None
    extra: Mapping[str, Any] = _rest()
    _ranking: Sequence[Mapping[str, Any]] = field(default=(), repr=False, hash=False, metadata=_OURS)

    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """The candidates, best first."""
        return tuple(read(Ranked, row) for row in self._ranking)


@dataclass(frozen=True)
class EpisodeStart:
    """An episode the server knows, and how many steps it can have."""

    episode_id: str
    episode_length: int
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class EpisodeEnd:
    """What the server said of the end of an episode: `learned`, or `pending` while rewards are missing."""

    episode_id: str | None = None
    steps: int | None = None
    outcome: str | None = None
    position: int | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Weights:
    """How much rewards were allowed to move the learner."""

    edges: Sequence[float] = ()
    counts: Sequence[int] = ()
    down_weighted_share: float = 0.0
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Diagnostics:
    """How a learner is doing, at one position of its log. Numbers are unrounded."""

    rounds: int
    position: int
    dimension: int | None = None
    alpha: float | None = None
    beta: float | None = None
    budget: float | None = None
    eluder_potential: float | None = None
    noise: float | None = None
    weights: Weights = field(default_factory=Weights)
    rewards: Mapping[str, int] = field(default_factory=dict)
    gauge: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class LogEvent:
    """One event of a learner's log; what only its `kind` has is in `extra`."""

    position: int
    kind: str
    at: float
    decision_id: str | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Retraction:
    """What the server said of a retraction."""

    position: int | None = None
    extra: Mapping[str, Any] = _rest()


@dataclass(frozen=True)
class Health:
    """Whether the server is ready to serve, in its own words."""

    ready: bool
    status: str
    extra: Mapping[str, Any] = _rest()


@cache
def _known(cls: Any) -> frozenset[str]:
    return frozenset(f.name for f in fields(cls) if not f.metadata.get("ours"))


def read(cls: type[T], body: Mapping[str, Any], **made: Any) -> T:
    """A value of this class from a JSON object; `made` are the fields that were built from it already.

    >>> read(Chosen, {"id": "a", "index": 0, "new": 1})
    Chosen(id='a', index=0, extra={'new': 1})
    """
    build = cast(Callable[..., T], cls)
    known = _known(build)
    given = {name: value for name, value in body.items() if name in known}
    rest = {} if len(given) == len(body) else {name: body[name] for name in body if name not in known}
    return build(**{**given, **made}, extra=rest)
