"""Batches of decisions whose features are vectors, read at a glance.

The numbers go from the body into one array, without a Python object for each, which would be most of the work. This
knows the usual case and nothing else: whatever is unusual or wrong with a body, it is None here, and the ordinary way
reads it again and says what is wrong.
"""

from itertools import accumulate, chain
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
from holdfast.features.written import occurrences, rows_of
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
        decisions, self._encoder = batch.decisions, encoder
        own = [one.actions for one in decisions if one.actions is not UNSET]
        lists = own if batch.actions is UNSET else [batch.actions, *own]  # as many as decisions, or one for all
        self._actions = list(chain.from_iterable(lists))
        self._listed_ids = _each_once([[action.id for action in actions] for actions in lists])
        self._ids = self._listed_ids if batch.actions is UNSET else self._listed_ids * len(decisions)
        self._counts = list(map(len, self._ids))
        self._contexts = [one.context for one in decisions]
        self._names = [one.decision_id for one in decisions]
        self._tops = [one.top for one in decisions]
        self._rankings = [one.ranking for one in decisions]
        self._all_ids = "".join(chain.from_iterable(self._listed_ids))
        self.rows = sum(self._counts)
        self.id_characters = len(self._all_ids) if batch.actions is UNSET else len(self._all_ids) * len(decisions)

    @property
    def rankings(self) -> list[str]:
        return [ranking or "complete" for ranking in self._rankings]

    def is_in_order(self, body: bytes) -> bool:
        """Whether each name is said once (see `names`), each id of a decision too, and no more shown than there is."""
        beside = (self._contexts, self._names, self._tops, self._rankings)  # the actions
        told = 1 + len(self._listed_ids) + 2 * len(self._actions)
        told += sum(len(column) - column.count(UNSET) for column in beside)
        told += self._all_ids.count(":") + "".join(name for name in self._names if name).count(":")
        return (
            len(self._ids) == len(self._contexts)  # not some with actions of their own and some without
            and occurrences(body, b":") == told
            and all(len(set(ids)) == len(ids) for ids in {id(ids): ids for ids in self._listed_ids}.values())
            and all(map(le, (top or 1 for top in self._tops), self._counts))
        )

    def questions(self) -> Questions | None:
        """None if anything is wrong with the vectors."""
        encoder, count = self._encoder, len(self._names)
        contexts = [context for context in self._contexts if context is not UNSET]
        if len(contexts) != (count if encoder.context else 0):
            return None
        rows = rows_of((contexts, encoder.context), ([action.features for action in self._actions], encoder.action))
        if rows is None:
            return None
        c, a = rows
        try:
            phi = encoder.join(c.reshape(count, encoder.context), a, self._counts)
        except InvalidInput:  # too long a vector
            return None
        names, tops = [name or None for name in self._names], [top or 1 for top in self._tops]
        return asked(names, self._ids, phi, tops)


def _each_once(lists: list[list[str]]) -> list[list[str]]:
    """The same, but a list that says what the one before says is that one: what is not there need not be fetched."""
    return list(accumulate(lists, lambda before, some: before if some == before else some))


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
