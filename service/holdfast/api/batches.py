"""A batch of rewards in which one that cannot be read does not spoil the others."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from holdfast.api import refusals
from holdfast.api.bodies import decode
from holdfast.api.schemas import Id, RewardBody, RewardsApart, RewardsBody
from holdfast.errors import InvalidInput


class Unreadable(NamedTuple):
    """An item that is no reward."""

    place: int
    decision_id: str | None  # if it has one that can be one
    problem: InvalidInput


class _Named(msgspec.Struct, gc=False):
    """As much of an item as is needed to call it by its name."""

    decision_id: Id | None = None


_together = msgspec.json.Decoder(RewardsBody)
_apart = msgspec.json.Decoder(RewardsApart)
_one = msgspec.json.Decoder(RewardBody)
_name = msgspec.json.Decoder(_Named)


def decode_rewards(body: bytes) -> tuple[list[RewardBody], list[Unreadable]]:
    """The rewards, and the items that are none, both in order; what is wrong with the body as a whole refuses it."""
    try:
        return decode(_together, body).rewards, []
    except InvalidInput as problem:
        if not problem.pointer.startswith("/rewards/"):
            raise
    return _one_by_one(decode(_apart, body).rewards)


def _one_by_one(items: Iterable[msgspec.Raw]) -> tuple[list[RewardBody], list[Unreadable]]:
    rewards: list[RewardBody] = []
    unreadable: list[Unreadable] = []
    for place, item in enumerate(items):
        try:
            rewards.append(_one.decode(item))
        except msgspec.ValidationError as problem:
            unreadable.append(Unreadable(place, _decision_id(item), refusals.from_msgspec(problem)))
    return rewards, unreadable


def _decision_id(item: msgspec.Raw) -> str | None:
    try:
        return _name.decode(item).decision_id
    except msgspec.ValidationError:
        return None
