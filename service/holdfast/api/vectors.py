"""Batches of decisions whose features are vectors, read at a glance.

The numbers go from the body into one array, without a Python object for each, which would be most of the work. This
knows the usual case and nothing else: whatever is unusual or wrong with a body, it is None here, and the ordinary way
reads it again and says what is wrong.
"""

from itertools import chain
from operator import le
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from holdfast.api.asking import asked
from holdfast.api.bodies import CONTAINERS_MAX, NAMES_MAX, check_counts
from holdfast.api.schemas import BATCH_MAX, Id
from holdfast.errors import InvalidInput
from holdfast.features import Dense, Encoder
from holdfast.features.limits import CANDIDATES_MAX, ID_LENGTH_MAX
from holdfast.features.written import numbers_of, occurrences
from holdfast.hosting.decide import Questions


class _Action(Struct, forbid_unknown_fields=True, gc=False):
    id: Annotated[str, Meta(min_length=1, max_length=ID_LENGTH_MAX)]
    features: Raw


_Actions = Annotated[list[_Action], Meta(min_length=1, max_length=CANDIDATES_MAX)]


class _Decision(Struct, forbid_unknown_fields=True, gc=False):
    actions: _Actions | UnsetType = UNSET
    context: Raw | UnsetType = UNSET
    decision_id: Id | UnsetType | None = UNSET
    top: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    ranking: Literal["complete", "chosen"] | UnsetType = UNSET


class _Batch(Struct, forbid_unknown_fields=True, gc=False):
    decisions: Annotated[list[_Decision], Meta(min_length=1, max_length=BATCH_MAX)]
    actions: _Actions | UnsetType = UNSET


_decoder = msgspec.json.Decoder(_Batch)


class Glanced:
    """A batch whose names and ids are in order, but whose vectors are still text."""

    def __init__(self, batch: _Batch, encoder: Dense) -> None:
        self._decisions, self._encoder = batch.decisions, encoder
        own = [one.actions for one in batch.decisions if one.actions is not UNSET]
        self._lists = own if batch.actions is UNSET else [batch.actions, *own]  # as many as decisions, or one for all
        self._actions = list(chain.from_iterable(self._lists))
        self._listed_ids = [[action.id for action in actions] for actions in self._lists]
        count = len(batch.decisions)
        self._ids = self._listed_ids * count if batch.actions is not UNSET else self._listed_ids
        self._counts = list(map(len, self._ids))
        self._tops = [one.top or 1 for one in batch.decisions]
        self.rows = sum(self._counts)
        characters = sum(map(len, chain.from_iterable(self._listed_ids)))
        self.id_characters = characters if batch.actions is UNSET else characters * count
        self.rankings: list[str] = [one.ranking or "complete" for one in batch.decisions]

    def is_in_order(self, body: bytes) -> bool:
        """Whether each name is said once (see `names`), each id of a decision too, and no more shown than there is."""
        told = 1 + len(self._lists) + 2 * len(self._actions) + sum(map(_told, self._decisions))
        told += "".join(chain.from_iterable(self._listed_ids)).count(":")
        return (
            len(self._ids) == len(self._decisions)  # not some with actions of their own and some without
            and occurrences(body, b":") == told
            and list(map(len, map(set, self._listed_ids))) == list(map(len, self._lists))
            and all(map(le, self._tops, self._counts))
        )

    def questions(self) -> Questions | None:
        """None if anything is wrong with the vectors."""
        encoder, count = self._encoder, len(self._decisions)
        contexts = [one.context for one in self._decisions if one.context is not UNSET]
        if len(contexts) != (count if encoder.context else 0):
            return None
        vectors = [action.features for action in self._actions]
        lengths = [encoder.context] * len(contexts) + [encoder.action] * len(vectors)
        numbers = numbers_of(contexts + vectors, lengths)
        if numbers is None:
            return None
        cut = count * encoder.context
        c, a = numbers[:cut].reshape(count, encoder.context), numbers[cut:].reshape(len(vectors), encoder.action)
        try:
            phi = encoder.join(c, a, self._counts)
        except InvalidInput:  # too long a vector
            return None
        return asked([one.decision_id or None for one in self._decisions], self._ids, phi, self._tops)


def glance(body: bytes, encoder: Encoder) -> Glanced | None:
    """A batch, if there is nothing unusual about it."""
    if not isinstance(encoder, Dense) or not encoder.joins_vectors or b"\\" in body:
        return None
    check_counts(body, CONTAINERS_MAX, NAMES_MAX)
    try:
        glanced = Glanced(_decoder.decode(body), encoder)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return glanced if glanced.is_in_order(body) else None


def _told(one: _Decision) -> int:
    """The colons of what a decision says beside its actions."""
    said = (one.context is not UNSET) + (one.decision_id is not UNSET) + (one.top is not UNSET)
    return said + (one.ranking is not UNSET) + (one.decision_id.count(":") if one.decision_id else 0)
