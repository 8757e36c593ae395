"""Whether a body says a name twice, told quickly from what was decoded.

A name ends with a colon, and so does nothing else outside a text. Decoding keeps one of two equal names, so a body with
more colons than the decoded names and texts account for may have said one twice. Without a backslash every text
stands in the body letter by letter, so as many colons as accounted for means that there was no second one.
"""

from itertools import chain
from typing import Any

import msgspec

from holdfast.api.schemas import (
    ActionBody,
    BatchedDecisionBody,
    DecisionBody,
    DecisionsBody,
    EpisodeBody,
    EventBody,
    EventsBody,
    FinishBody,
    RewardBody,
    RewardsApart,
    RewardsBody,
    StepBody,
    StepRewardBody,
)

_NESTED = {dict, list}
_UNTOLD = -(10**9)  # fewer than any body can make up for

TrafficBody = (
    DecisionBody
    | DecisionsBody
    | RewardBody
    | RewardsBody
    | RewardsApart
    | EventsBody
    | EpisodeBody
    | StepBody
    | StepRewardBody
    | FinishBody
)


def says_each_name_once(body: bytes, decoded: TrafficBody) -> bool:
    """True if it surely does; False if that takes a closer look."""
    return b"\\" not in body and body.count(b":") == _COLONS[type(decoded)](decoded)


def _of_batch(body: DecisionsBody) -> int:
    """Some or all of them may have the actions of the batch."""
    said = (body.actions, *(one.actions for one in body.decisions))
    lists = [actions for actions in said if actions is not msgspec.UNSET]
    own = len(lists) + _of_actions(list(chain.from_iterable(lists)))
    return 1 + own + sum(map(_of_the_rest, body.decisions))


def _of_the_rest(one: DecisionBody | BatchedDecisionBody) -> int:
    """What a decision says beside its actions."""
    told = (one.decision_id is not None) + (one.top != 1) + (one.ranking != "complete")
    return told + _of_texts(one.decision_id) + (one.context is not None) + _of_features(one.context)


def _of_actions(actions: list[ActionBody]) -> int:
    """Every action has an id, and most have features."""
    features = [action.features for action in actions if action.features is not None]
    objects = sum(map(_of_features, features)) if dict in set(map(type, features)) else 0
    return len(actions) + "".join([action.id for action in actions]).count(":") + len(features) + objects


def _of_features(features: Any) -> int:
    """Values, or namespaces of values. A list alone is numbers, or its encoder refuses it."""
    if type(features) is dict:
        return _of_names(features) + sum(map(_of_value, features.values()))
    return features.count(":") if type(features) is str else 0


def _of_value(value: Any) -> int:
    return _of_names(value) + sum(map(_of_leaf, value.values())) if type(value) is dict else _of_leaf(value)


def _of_leaf(value: Any) -> int:
    """Whatever is nested deeper takes a closer look, at its depth too: an encoder may ignore it without one."""
    if type(value) is str:
        return value.count(":")
    nested = type(value) is dict or (type(value) is list and not _NESTED.isdisjoint(map(type, value)))
    return _UNTOLD if nested else 0


def _of_names(features: dict[str, Any]) -> int:
    return len(features) + "".join(features).count(":")


def _of_reward(one: RewardBody) -> int:
    told = (one.action_id is not None) + (one.source is not None)
    return 2 + told + _of_texts(one.decision_id, one.action_id, one.source)


def _of_event(one: EventBody) -> int:
    told = (one.probability is not None) + (one.source is not None)
    told += (one.context is not None) + _of_features(one.context)
    return 3 + _of_actions(one.actions) + told + _of_texts(one.action_id, one.source)


def _of_step(one: StepBody) -> int:
    state = (one.state is not None) + _of_features(one.state)
    told = (one.reward is not None) + (one.step is not None) + (one.source is not None) + (one.ranking != "complete")
    return 1 + _of_actions(one.actions) + state + told + _of_texts(one.source)


def _of_finish(one: FinishBody) -> int:
    actions = 0 if one.actions is None else 1 + _of_actions(one.actions)
    return actions + (one.state is not None) + _of_features(one.state)


def _of_texts(*texts: str | None) -> int:
    return sum(text.count(":") for text in texts if text is not None)


_COLONS: dict[type, Any] = {
    DecisionBody: lambda body: 1 + _of_actions(body.actions) + _of_the_rest(body),
    DecisionsBody: _of_batch,
    RewardBody: _of_reward,
    RewardsBody: lambda body: 1 + sum(map(_of_reward, body.rewards)),
    RewardsApart: lambda body: _UNTOLD,
    EpisodeBody: lambda body: (body.episode_id is not None) + _of_texts(body.episode_id),
    StepBody: _of_step,
    StepRewardBody: lambda body: 2 + (body.source is not None) + _of_texts(body.source),
    FinishBody: _of_finish,
    EventsBody: lambda body: 1 + sum(map(_of_event, body.events)),
}
