"""What a caller may choose between."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import is_text
from holdfast.errors import InvalidInput
from holdfast.features.limits import CANDIDATES_MAX, ID_LENGTH_MAX


class Described(Protocol):
    """One action: its id, a text, and whatever describes it. Both are a caller's, so both are checked."""

    @property
    def id(self) -> Any: ...
    @property
    def features(self) -> Any: ...


class Candidate(NamedTuple):
    """The plainest action."""

    id: Any
    features: Any = None


class Encoder(Protocol):
    """A feature map: from what a caller sends to one row φ per candidate."""

    @property
    def dimension(self) -> int:
        """The length of φ."""

    def encode(self, context: Any, candidates: Sequence[Described]) -> Array:
        """`(K, dimension)`; raises `InvalidInput` with the place and the rule."""

    def encode_all(self, requests: Sequence[tuple[Any, Sequence[Described]]]) -> Array:
        """The rows of several contexts and their candidates, as by `encode` of one after the other; a refusal does not
        say which of them it is about.
        """


def encode_each(encoder: Encoder, requests: Sequence[tuple[Any, Sequence[Described]]]) -> Array:
    """`encode_all` of an encoder that gains nothing from seeing them together."""
    return np.concatenate([encoder.encode(context, candidates) for context, candidates in requests])


def check_candidates(candidates: Sequence[Described]) -> None:
    """One to 10,000 candidates with distinct, non-empty ids."""
    if not isinstance(candidates, list | tuple):
        raise InvalidInput("/actions", "must be a list of candidates")
    if not 1 <= len(candidates) <= CANDIDATES_MAX:
        raise InvalidInput("/actions", f"must have 1 to {CANDIDATES_MAX} actions")
    try:
        ids = [candidate.id for candidate in candidates]
    except AttributeError:
        raise InvalidInput("/actions", "must be a list of candidates") from None
    if not _are_texts(ids):
        index = next(i for i, name in enumerate(ids) if not _are_texts([name]))
        raise InvalidInput(f"/actions/{index}/id", f"must be a text of 1 to {ID_LENGTH_MAX} characters")
    if len(set(ids)) < len(ids):
        raise InvalidInput("/actions", "ids must be unique")


def check_all_candidates(lists: Sequence[Sequence[Described]]) -> None:
    """`check_candidates` of each: at a glance, and one by one if that does not settle it."""
    if not _are_surely_fine(lists):
        for candidates in lists:
            check_candidates(candidates)


def _are_surely_fine(lists: Sequence[Sequence[Described]]) -> bool:
    if not set(map(type, lists)) <= {list, tuple}:
        return False
    counts = list(map(len, lists))
    if not counts or min(counts) < 1 or max(counts) > CANDIDATES_MAX:
        return False
    try:
        ids = [[candidate.id for candidate in candidates] for candidates in lists]
    except AttributeError:
        return False
    return _are_texts(list(chain.from_iterable(ids))) and list(map(len, map(set, ids))) == counts


def _are_texts(ids: list[Any]) -> bool:
    if set(map(type, ids)) != {str} or "" in ids or max(map(len, ids)) > ID_LENGTH_MAX:
        return False
    return is_text("".join(ids), len(ids) * ID_LENGTH_MAX)
