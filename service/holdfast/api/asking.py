"""From the bodies of decisions to the questions that the host is asked."""

import hashlib
from collections.abc import Sequence
from itertools import accumulate, pairwise

import msgspec

from holdfast.api.schemas import DecisionBody
from holdfast.arrays import Array
from holdfast.errors import InvalidInput
from holdfast.features import Encoder
from holdfast.hosting.decide import NEVER_ASKED, Questions, check_top
from holdfast.hosting.ids import new_ids

DIGEST_BYTES = 16

_encode = msgspec.json.Encoder().encode


def question(encoder: Encoder, body: DecisionBody, place: str = "") -> Questions:
    """One; what is refused is told of its place in the request."""
    try:
        phi = encoder.encode(body.context, body.actions)
        check_top(body.top, len(body.actions))
    except InvalidInput as problem:
        raise problem.within(place) from None
    return asked([body.decision_id], [_ids(body)], phi, [body.top])._replace(place=place)


def questions(encoder: Encoder, bodies: list[DecisionBody]) -> Questions:
    """All at once; if anything is refused, one by one to say where."""
    try:
        for body in bodies:
            check_top(body.top, len(body.actions))
        phi = encoder.encode_all([(body.context, body.actions) for body in bodies])
    except InvalidInput:
        for index, body in enumerate(bodies):
            question(encoder, body, Questions.place_of(index))
        raise
    return asked([body.decision_id for body in bodies], list(map(_ids, bodies)), phi, [body.top for body in bodies])


def asked(names: Sequence[str | None], ids: list[list[str]], phi: Array, tops: list[int]) -> Questions:
    """With ids of our own where the caller gave none, and a digest of the content where it did."""
    if not any(names):
        return Questions(new_ids(len(names)), ids, phi, tops, [NEVER_ASKED] * len(names))
    fresh = iter(new_ids(names.count(None)))
    cuts = pairwise([0, *accumulate(map(len, ids))])
    digests = [
        NEVER_ASKED if name is None else _digest(phi[start:end], some, top)
        for name, (start, end), some, top in zip(names, cuts, ids, tops, strict=True)
    ]
    return Questions([next(fresh) if name is None else name for name in names], ids, phi, tops, digests)


def _ids(body: DecisionBody) -> list[str]:
    return [action.id for action in body.actions]


def _digest(phi: Array, ids: list[str], top: int) -> bytes:
    content = hashlib.sha256(phi.tobytes())
    content.update(_encode([ids, top]))
    return content.digest()[:DIGEST_BYTES]
