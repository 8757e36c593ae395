"""The answers of the hot routes, as the OpenAPI document describes them."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType


class Chosen(Struct, forbid_unknown_fields=True, gc=False):
    """The action to show."""

    id: str
    index: Annotated[int, Meta(description="Its place in the request, from 0.")]


class Ranked(Struct, forbid_unknown_fields=True, gc=False):
    """One candidate as the learner sees it."""

    id: str
    score: Annotated[float, Meta(description="The optimistic value: mean + bonus, at most what can be earned.")]
    mean: Annotated[float, Meta(description="The expected reward, scaled to [0, 1].")]
    bonus: Annotated[float, Meta(description="β·b(z): what being unsure adds.")]
    probability: Annotated[float, Meta(description="The probability with which it was chosen.")]


class DecisionAnswer(Struct, forbid_unknown_fields=True, gc=False):
    """A decision, durable."""

    decision_id: str
    learner: str
    action: Chosen
    position: Annotated[int, Meta(description="Its place in the learner's log.")]
    ranking: list[Ranked]


class DecisionsAnswer(Struct, forbid_unknown_fields=True):
    """All of them, in the order asked."""

    decisions: list[DecisionAnswer]


class ProblemError(Struct, forbid_unknown_fields=True):
    """One broken rule."""

    pointer: Annotated[str, Meta(description="A JSON pointer to the place.")]
    detail: Annotated[str, Meta(description="The rule; never the input.")]


class Problem(Struct, forbid_unknown_fields=True):
    """RFC 9457."""

    type: Annotated[str, Meta(description="A stable word for the kind of problem.")]
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | UnsetType = UNSET
    request_id: Annotated[str | UnsetType, Meta(description="The header X-Request-Id of this answer.")] = UNSET


class RewardAnswer(Struct, forbid_unknown_fields=True):
    """What became of a reward, durable."""

    decision_id: str
    outcome: Literal["learned", "pending", "duplicate", "late", "ignored"]
    weight: Annotated[float | None, Meta(description="How much it was allowed to move the learner; null: not at all.")]
    position: int


class RewardResult(Struct, forbid_unknown_fields=True):
    """The answer to one reward of a batch, or its problem."""

    decision_id: Annotated[str | None, Meta(description="Null if a bad item has none that could be one.")]
    outcome: Literal["learned", "pending", "duplicate", "late", "ignored"] | UnsetType = UNSET
    weight: float | UnsetType | None = UNSET
    position: int | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET


class EpisodeAnswer(Struct, forbid_unknown_fields=True):
    """An episode, begun."""

    episode_id: str
    episode_length: Annotated[int, Meta(description="How many steps it can have.")]
    position: int


class StepAnswer(Struct, forbid_unknown_fields=True, gc=False):
    """A step, durable."""

    episode_id: str
    step: Annotated[int, Meta(description="Which one it was, from 1.")]
    action: Chosen
    position: Annotated[int, Meta(description="Its place in the learner's log.")]
    ranking: list[Ranked]


class StepRewardAnswer(Struct, forbid_unknown_fields=True):
    """What became of a step's reward, durable."""

    episode_id: str
    step: int
    outcome: Literal["learned", "pending", "duplicate", "late", "ignored"]
    weight: Annotated[float | None, Meta(description="How much it was allowed to move the learner; null: not yet.")]
    position: int


class FinishAnswer(Struct, forbid_unknown_fields=True):
    """The end of an episode, durable."""

    episode_id: str
    steps: Annotated[int, Meta(description="How many were taken.")]
    outcome: Annotated[
        Literal["learned", "pending", "ignored"],
        Meta(description="Whether the episode was learned, waits for rewards, or taught nothing."),
    ]
    position: int


class EventAnswer(Struct):
    """What became of one observation."""

    outcome: str
    weight: float
    position: int


class EventsAnswer(Struct):
    """One each, in the order given."""

    events: list[EventAnswer]


class RewardsAnswer(Struct, forbid_unknown_fields=True):
    """One result each, in the order given."""

    rewards: list[RewardResult]


def described(*types: type[Struct]) -> dict[str, dict[str, object]]:
    """Their JSON schemas by name."""
    _, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    return components
