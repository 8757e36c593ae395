"""What a caller may choose between."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from holdfast.arrays import Array
from holdfast.checks import is_text
from holdfast.errors import InvalidInput
from holdfast.features.limits import CANDIDATES_MAX, ID_LENGTH_MAX


class Candidate(NamedTuple):
    """One action: its id, a text, and whatever describes it. Both are a caller's, so both are checked."""

    id: Any
    features: Any = None


class Encoder(Protocol):
    """A feature map: from what a caller sends to one row φ per candidate."""

    @property
    def dimension(self) -> int:
        """The length of φ."""

    def encode(self, context: Any, candidates: Sequence[Candidate]) -> Array:
        """`(K, dimension)`; raises `InvalidInput` with the place and the rule."""


def check_candidates(candidates: Sequence[Candidate]) -> None:
    """One to 10,000 candidates with distinct, non-empty ids."""
    if not isinstance(candidates, list | tuple) or not all(isinstance(c, Candidate) for c in candidates):
        raise InvalidInput("/actions", "must be a list of candidates")
    if not 1 <= len(candidates) <= CANDIDATES_MAX:
        raise InvalidInput("/actions", f"must have 1 to {CANDIDATES_MAX} actions")
    for index, candidate in enumerate(candidates):
        if not is_text(candidate.id, ID_LENGTH_MAX) or not candidate.id:
            raise InvalidInput(f"/actions/{index}/id", f"must be a text of 1 to {ID_LENGTH_MAX} characters")
    if len({candidate.id for candidate in candidates}) < len(candidates):
        raise InvalidInput("/actions", "ids must be unique")
