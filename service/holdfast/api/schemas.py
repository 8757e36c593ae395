"""The bodies of the contract. Learners are described with pydantic; the hot routes decode with msgspec."""

import re
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from holdfast.features.limits import CANDIDATES_MAX, ID_LENGTH_MAX

BATCH_MAX = 1_000

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
NO_NUL = r"^[^\x00]*$"  # PostgreSQL keeps every other character

Name = Annotated[str, Field(min_length=1, max_length=ID_LENGTH_MAX, pattern=NAME_PATTERN)]
_name = re.compile(NAME_PATTERN)
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_LENGTH_MAX, pattern=NO_NUL)]


def is_name(text: str) -> bool:
    """Whether a learner can have this name."""
    return len(text) <= ID_LENGTH_MAX and _name.fullmatch(text) is not None


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


class Reward(Strict):
    """What rewards look like and how long they are waited for."""

    min: float = 0.0
    max: float = 1.0
    out_of_range: Literal["reject", "clip"] = "reject"
    wait_s: Annotated[float, Field(gt=0, le=31_536_000)] = 600
    default: float | None = 0.0
    aggregation: Literal["first", "last_before_wait", "sum", "mean"] = "first"


class Corruption(Strict):
    """What is insured."""

    budget: float | Literal["auto"] = "auto"
    premium: float = 0.01


class LearnerBody(Strict):
    """A learner as its owner describes it."""

    name: Name
    kind: Literal["bandit"]
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

    def spec(self) -> dict[str, Any]:
        """The description that is stored, with every default filled in."""
        described = self.model_dump(exclude={"name", "exploration"})
        described["exploration_floor"] = self.exploration or 0.0
        return described


class RewardChange(Strict):
    """What may change about rewards."""

    wait_s: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    default: float | None = None


class LearnerChange(Strict):
    """What may change without breaking the guarantee."""

    paused: bool | None = None
    mode: Literal["online", "shadow", "frozen"] | None = None
    reward: RewardChange | None = None


EXAMPLES: dict[type[BaseModel], dict[str, Any]] = {
    LearnerBody: {"name": "home-page", "kind": "bandit", "features": {"kind": "dense", "context": 20, "action": 8}},
    LearnerChange: {"mode": "frozen", "reward": {"wait_s": 3600}},
}


class ActionBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A candidate."""

    id: str
    features: Any = None


class DecisionBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A decision to make."""

    actions: Annotated[list[ActionBody], msgspec.Meta(max_length=CANDIDATES_MAX)]
    context: Any = None
    decision_id: Id | None = None
    top: Annotated[int, msgspec.Meta(ge=1)] = 1
    ranking: Literal["complete", "chosen"] = "complete"


class DecisionsBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Several, all or nothing."""

    decisions: Annotated[list[DecisionBody], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]


class RewardBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A reward."""

    decision_id: Id
    value: float
    action_id: Annotated[str, msgspec.Meta(max_length=ID_LENGTH_MAX)] | None = None
    source: Annotated[str, msgspec.Meta(max_length=ID_LENGTH_MAX, pattern=NO_NUL)] | None = None


class RewardsBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Several, learned in the order given."""

    rewards: Annotated[list[RewardBody], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]


class EventBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Something that was shown and rewarded elsewhere."""

    actions: Annotated[list[ActionBody], msgspec.Meta(max_length=10_000)]
    action_id: str
    value: float
    context: Any = None
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    source: Annotated[str, msgspec.Meta(max_length=ID_LENGTH_MAX)] | None = None


class EventsBody(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A warm start from old logs."""

    events: Annotated[list[EventBody], msgspec.Meta(min_length=1, max_length=BATCH_MAX)]
