"""From the bodies of decisions to the questions that the host is asked."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from holdfast.api.bodies import ACTIONS_MAX, ID_CHARACTERS_MAX, SPELLED_BYTES_MAX
from holdfast.api.schemas import ActionBody, DecisionBody, DecisionsBody
from holdfast.arrays import Array, cuts
from holdfast.errors import InvalidInput, TooLarge
from holdfast.features import Dense, Encoder
from holdfast.features.limits import NUMBERS_PER_BATCH_MAX
from holdfast.hosting.decide import NEVER_ASKED, Questions, check_top
from holdfast.hosting.ids import new_ids

DIGEST_BYTES = 16

_encode = msgspec.json.Encoder().encode


def question(encoder: Encoder, body: DecisionBody) -> Questions:
    """One."""
    phi = encoder.encode(body.context, body.actions)
    check_top(body.top, len(body.actions))
    return asked([body.decision_id], [_ids(body)], phi, [body.top], place="")


def each_with_actions(batch: DecisionsBody) -> list[DecisionBody]:
    """The decisions of a batch; those that have no actions of their own, with the batch's."""
    return [
        DecisionBody(_actions_of(batch, index), one.context, one.decision_id, one.top, one.ranking)
        for index, one in enumerate(batch.decisions)
    ]


def _actions_of(batch: DecisionsBody, index: int) -> list[ActionBody]:
    own = batch.decisions[index].actions
    actions = batch.actions if isinstance(own, UnsetType) else own
    if isinstance(actions, UnsetType):
        raise InvalidInput(f"{Questions.place_of(index)}/actions", "is needed where the batch has no actions either")
    return actions


def check_size(rows: int, id_characters: int, encoder: Encoder) -> None:
    """Of a batch."""
    if rows > ACTIONS_MAX or rows * encoder.dimension > NUMBERS_PER_BATCH_MAX or id_characters > ID_CHARACTERS_MAX:
        raise TooLarge(
            f"all decisions of a batch together may have {ACTIONS_MAX:,} actions, {ID_CHARACTERS_MAX:,} characters in "
            f"their ids, and {NUMBERS_PER_BATCH_MAX:,} numbers in their encoded features"
        )


def check_spelled(batch: DecisionsBody, encoder: Encoder) -> None:
    """Refuse what could not be sent if every decision said the shared actions itself."""
    if isinstance(encoder, Dense) and encoder.joins_vectors:
        return
    users = sum(one.actions is UNSET for one in batch.decisions)
    if users > 1 and users * len(_encode(batch.actions)) > SPELLED_BYTES_MAX:
        raise TooLarge(f"shared actions may have {SPELLED_BYTES_MAX:,} bytes, counted for each decision")


def questions(encoder: Encoder, bodies: list[DecisionBody], shared: Any = UNSET) -> Questions:
    """All at once; if anything is refused, one by one to say where. Of shared actions it is told as such."""
    try:
        for body in bodies:
            check_top(body.top, len(body.actions))
        phi = encoder.encode_all([(body.context, body.actions) for body in bodies])
    except InvalidInput:
        for index, body in enumerate(bodies):
            _refuse_with_place(encoder, body, Questions.place_of(index), body.actions is shared)
        raise
    return asked([body.decision_id for body in bodies], list(map(_ids, bodies)), phi, [body.top for body in bodies])


def asked(
    names: Sequence[str | None], ids: list[list[str]], phi: Array, tops: list[int], place: str | None = None
) -> Questions:
    """With ids of our own where the caller gave none, and a digest of the content where it did."""
    if not any(names):
        return Questions(new_ids(len(names)), ids, phi, tops, [NEVER_ASKED] * len(names), place)
    fresh = iter(new_ids(names.count(None)))
    digests = [
        NEVER_ASKED if name is None else _digest(phi[start:end], some, top)
        for name, (start, end), some, top in zip(names, cuts(map(len, ids)), ids, tops, strict=True)
    ]
    return Questions([next(fresh) if name is None else name for name in names], ids, phi, tops, digests, place)


def _refuse_with_place(encoder: Encoder, body: DecisionBody, place: str, is_shared: bool) -> None:
    try:
        question(encoder, body)
    except InvalidInput as problem:
        raise problem if is_shared and problem.pointer.startswith("/actions") else problem.within(place) from None


def _ids(body: DecisionBody) -> list[str]:
    return [action.id for action in body.actions]


def _digest(phi: Array, ids: list[str], top: int) -> bytes:
    content = hashlib.sha256(phi.tobytes())
    content.update(_encode([ids, top]))
    return content.digest()[:DIGEST_BYTES]
