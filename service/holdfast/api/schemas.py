"""The bodies of the contract. Learners are described with pydantic; the hot routes decode with msgspec."""

import re
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from holdfast.errors import InvalidConfiguration
from holdfast.features.limits import CANDIDATES_MAX, ID_LENGTH_MAX
from holdfast.hosting.sessions.step import LENGTH_MAX

BATCH_MAX = 1_000

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
NO_NUL = r"^[^\x00]*$"  # PostgreSQL keeps every other character

Name = Annotated[str, Field(min_length=1, max_length=ID_LENGTH_MAX, pattern=NAME_PATTERN)]
_name = re.compile(NAME_PATTERN)
_no_nul = re.compile(NO_NUL)
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_LENGTH_MAX, pattern=NO_NUL)]


def is_name(text: str) -> bool:
    """Whether a learner can have this name."""
    return len(text) <= ID_LENGTH_MAX and _name.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Whether a decision or an episode can have this id."""
    return 1 <= len(text) <= ID_LENGTH_MAX and _no_nul.fullmatch(text) is not None


class Strict(BaseModel):
    """No unknown names, no numbers from text or booleans."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class DenseFeatures(Strict):
    """Numeric vectors."""

    kind: Literal["dense"]
    context: int = 0
    action: int = 0
    joint: Literal["action", "concat", "outer", "disjoint", "cell"] = "concat"
    normalise: Literal["clip", "unit", "none"] = "clip"
    actions: list[str] = []
    states: int = 1


class JsonFeatures(Strict):
    """Objects of named features, hashed."""

    kind: Literal["json"]
    dimension: int = 128
    interactions: list[list[str]] = [["context", "action"]]
    normalise: Literal["clip", "unit", "none"] = "clip"


TIMEOUT_S_MAX = 31_536_000


class Reward(Strict):
    """What rewards look like and how long they are waited for.

    Of an `mdp`, `min` and `max` are those of a whole episode: the sum of its rewards is mapped onto [0, 1]. One step
    earns from `min` / `episode_length` to `step_max`, which is everything unless it is given (only where `min` is 0);
    say it if you know it, the learner explores less. `default` is null unless given, `wait_s` and `aggregation` do not
    apply: an episode waits for `episode_timeout_s`, and each step has one reward.
    """

    min: float = 0.0
    max: float = 1.0
    step_max: float | None = None
    out_of_range: Literal["reject", "clip"] = "reject"
    wait_s: Annotated[float, Field(gt=0, le=TIMEOUT_S_MAX)] = 600
    default: float | None = 0.0
    aggregation: Annotated[
        Literal["first", "last_before_wait", "sum", "mean"],
        Field(description="Of `sum` and `mean`, a reward that is sent again without its Idempotency-Key is one more."),
    ] = "first"


class Corruption(Strict):
    """What is insured. Of an `mdp`, the default of `premium` is the learner's own: 0.02, or 0.005 if stationary."""

    budget: Annotated[
        float | Literal["auto"],
        Field(
            description="In units of reward: one fully forged reward takes up to `reward.max` − `reward.min` of it, so "
            "20 insures against 20 of them where rewards go from 0 to 1. 0 is plain optimism."
        ),
    ] = "auto"
    premium: float = 0.01


class LearnerBody(Strict):
    """A learner as its owner describes it."""

    name: Name
    kind: Literal["bandit", "mdp"]
    features: Annotated[DenseFeatures | JsonFeatures, Field(discriminator="kind")]
    function: dict[str, Any] = {"kind": "linear"}
    reward: Reward = Reward()
    corruption: Corruption = Corruption()
    horizon: int = 100_000
    confidence: float = 0.05
    exploration: float | None = None
    noise: float | Literal["auto"] = "auto"
    radius: Literal["practical", "theory"] = "practical"
    seed: int = 0
    episode_length: Annotated[int | None, Field(description="Steps of an episode; of an `mdp`, and needed there.")] = (
        None
    )
    episode_timeout_s: Annotated[float, Field(gt=0, le=TIMEOUT_S_MAX, description="Of an `mdp`.")] = 3600
    stationary: Annotated[bool, Field(description="Of an `mdp`: all steps share one model.")] = False

    def spec(self) -> dict[str, Any]:
        """The description that is stored, with every default filled in; only what a learner of this kind has."""
        described = self.model_dump(exclude={"name", "exploration"})
        described["exploration_floor"] = self.exploration or 0.0
        return self._of_sessions(described) if self.kind == "mdp" else self._of_decisions(described)

    def _of_decisions(self, described: dict[str, Any]) -> dict[str, Any]:
        self._refuse("bandit", ("episode_length", "episode_timeout_s", "stationary"), self, described)
        self._refuse("bandit", ("step_max",), self.reward, described["reward"])
        return described

    def _of_sessions(self, described: dict[str, Any]) -> dict[str, Any]:
        if self.episode_length is None:
            raise InvalidConfiguration("an mdp needs an episode_length")
        self._refuse("mdp", ("confidence", "noise"), self, described)
        self._refuse("mdp", ("wait_s", "aggregation"), self.reward, described["reward"])
        if "default" not in self.reward.model_fields_set:
            described["reward"]["default"] = None
        if "premium" not in self.corruption.model_fields_set:
            described["corruption"]["premium"] = None
        return described

    @staticmethod
    def _refuse(kind: str, names: tuple[str, ...], part: BaseModel, described: dict[str, Any]) -> None:
        """Drop what a learner of this kind does not have; saying it with another value than the default is wrong."""
        for name in names:
            if described.pop(name) != type(part).model_fields[name].default:
                raise InvalidConfiguration(f"{name} does not apply to a learner of kind {kind}")


UNSAID: Any = Field(default_factory=lambda: None)  # stays as it is; null is no value to change to


class RewardChange(Strict):
    """What may change about rewards."""

    wait_s: Annotated[
        float,
        Field(
            gt=0, le=TIMEOUT_S_MAX, description="Of decisions from now on; one that waits keeps the wait it began with."
        ),
    ] = UNSAID
    default: float | None = None


class LearnerChange(Strict):
    """What may change without breaking the guarantee."""

    paused: Annotated[
        bool,
        Field(
            description="Decisions and rewards are refused with 409. Waits go on: a decision whose wait ends meanwhile "
            "is settled with the default as soon as the learner goes on."
        ),
    ] = UNSAID
    mode: Annotated[
        Literal["online", "shadow", "frozen"],
        Field(
            description="`online`: decide and learn. `shadow`: answer the first action of the request, as the caller's "
            "own system would, and learn from it; its ranking is online's. `frozen`: decide, learn nothing."
        ),
    ] = UNSAID
    reward: RewardChange = UNSAID
    episode_timeout_s: Annotated[float, Field(gt=0, le=TIMEOUT_S_MAX)] = UNSAID


EXAMPLES: dict[type[BaseModel], dict[str, Any]] = {
    LearnerBody: {"name": "home-page", "kind": "bandit", "features": {"kind": "dense", "context": 20, "action": 8}},
    LearnerChange: {"mode": "frozen", "reward": {"wait_s": 3600}},
}


class ActionBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A candidate."""

    id: str
    features: Any = None


Actions = Annotated[list[ActionBody], msgspec.Meta(max_length=CANDIDATES_MAX)]


class DecisionBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A decision to make."""

    actions: Actions
    context: Any = None
    decision_id: Id | None = None
    top: Annotated[int, msgspec.Meta(ge=1)] = 1
    ranking: Literal["complete", "chosen"] = "complete"


class BatchedDecisionBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One of several decisions to make."""

    actions: Annotated[
        Actions | msgspec.UnsetType, msgspec.Meta(description="Those of the batch, if it has none of its own.")
    ] = msgspec.UNSET
    context: Any = None
    decision_id: Id | None = None
    top: Annotated[int, msgspec.Meta(ge=1)] = 1
    ranking: Literal["complete", "chosen"] = "complete"


class DecisionsBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Several, all or nothing."""

    decisions: Annotated[list[BatchedDecisionBody], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]
    actions: Annotated[
        Actions | msgspec.UnsetType,
        msgspec.Meta(description="Of every decision that has none of its own: a catalogue is said once."),
    ] = msgspec.UNSET


Source = Annotated[str, msgspec.Meta(max_length=ID_LENGTH_MAX, pattern=NO_NUL)]


class RewardBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A reward."""

    decision_id: Id
    value: float
    action_id: Annotated[str, msgspec.Meta(max_length=ID_LENGTH_MAX)] | None = None
    source: Source | None = None


class RewardsBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Several, learned in the order given."""

    rewards: Annotated[list[RewardBody], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]


class RewardsApart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The same, each still as it was written."""

    rewards: Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]


class EventBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Something that was shown and rewarded elsewhere."""

    actions: Annotated[list[ActionBody], msgspec.Meta(max_length=10_000)]
    action_id: str
    value: float
    context: Any = None
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    source: Source | None = None


class EventsBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A warm start from old logs."""

    events: Annotated[list[EventBody], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]


StepNumber = Annotated[int, msgspec.Meta(ge=1, le=LENGTH_MAX)]


class EpisodeBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An episode to begin."""

    episode_id: Id | None = None


class StepBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The next step of an episode."""

    actions: Annotated[list[ActionBody], msgspec.Meta(max_length=CANDIDATES_MAX)]
    state: Any = None
    reward: Annotated[float, msgspec.Meta(description="Of the step before, if it is known by now.")] | None = None
    step: Annotated[StepNumber, msgspec.Meta(description="Which step this is: makes a repeat safe.")] | None = None
    source: Annotated[Source, msgspec.Meta(description="Who says what the step before was worth.")] | None = None
    ranking: Literal["complete", "chosen"] = "complete"


class StepRewardBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What a step was worth."""

    step: StepNumber
    value: float
    source: Source | None = None


class FinishBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The end of an episode, and the state it was reached in."""

    state: Any = None
    actions: Annotated[list[ActionBody], msgspec.Meta(max_length=CANDIDATES_MAX)] | None = None
