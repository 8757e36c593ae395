"""Numeric vectors of fixed length for context and action, joined into one row φ per candidate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_choice, demand_texts, demand_whole
from holdfast.errors import InvalidInput
from holdfast.features.candidates import Described, check_all_candidates, check_candidates, encode_each
from holdfast.features.limits import DIMENSION_MAX, ID_LENGTH_MAX, STATES_MAX, VECTOR_LENGTH_MAX
from holdfast.features.normalise import NORMALISATIONS, Normalisation, normalise
from holdfast.features.numbers import are_lists, checked_vector, floats_of

Joint = Literal["action", "concat", "outer", "disjoint", "cell"]
JOINTS = ("action", "concat", "outer", "disjoint", "cell")


@dataclass(frozen=True)
class Dense:
    """`joint` says how a context c and an action a become φ.

    - `action`: a
    - `concat`: (c, a)
    - `outer`: (c ⊗ a, c, a)
    - `disjoint`: one block per declared id of `actions`, with c in the block of the candidate (1 without a context)
    - `cell`: for `tabular`: c is one whole number below `states`; φ is the number of the cell (c, id)

    >>> from holdfast.features import Candidate
    >>> Dense(context=2, action=1).encode([0.1, 0.2], [Candidate("a", [0.3])]).tolist()
    [[0.1, 0.2, 0.3]]
    """

    context: int = 0
    action: int = 0
    joint: Joint = "concat"
    normalise: Normalisation = "clip"
    actions: tuple[str, ...] = ()
    states: int = 1

    def __post_init__(self) -> None:
        demand_whole("context", self.context, 0, VECTOR_LENGTH_MAX)
        demand_whole("action", self.action, 0, VECTOR_LENGTH_MAX)
        demand_whole("states", self.states, 1, STATES_MAX)
        demand_choice("joint", self.joint, JOINTS)
        demand_choice("normalise", self.normalise, NORMALISATIONS)
        demand_texts("actions", self.actions, ID_LENGTH_MAX)
        declared = self.joint in ("disjoint", "cell")
        demand(bool(self.actions) == declared, "actions are declared for joint disjoint and cell, and only for those")
        demand(not declared or self.action == 0, f"joint {self.joint} takes no action vector: action must be 0")
        demand(self.joint != "cell" or self.context == 1, "joint cell takes the number of the state: context must be 1")
        demand(self.states == 1 or self.joint == "cell", "states is for joint cell")
        demand(1 <= self.dimension <= DIMENSION_MAX, f"the encoded dimension must be 1 to {DIMENSION_MAX}")

    @cached_property
    def dimension(self) -> int:
        return {
            "action": self.action,
            "concat": self.context + self.action,
            "outer": self.context * self.action + self.context + self.action,
            "disjoint": max(1, self.context) * len(self.actions),
            "cell": 1,
        }[self.joint]

    @property
    def cells(self) -> int:
        """How many cells a `tabular` class needs under joint `cell`."""
        return self.states * len(self.actions)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.actions)}

    @property
    def joins_vectors(self) -> bool:
        """Whether all there is to a request is vectors, for `join`."""
        return self.joint in ("action", "concat", "outer")

    def encode(self, context: Any, candidates: Sequence[Described]) -> Array:
        check_candidates(candidates)
        together = self._join_lists([(context, candidates)])
        if together is not None:
            return together
        c = checked_vector([] if context is None else context, self.context, "/context")
        if self.joins_vectors:
            return self.join(c[None], self._vectors(candidates), [len(candidates)])
        return self._cells(c, candidates) if self.joint == "cell" else self._blocks(c, candidates)

    def encode_all(self, requests: Sequence[tuple[Any, Sequence[Described]]]) -> Array:
        check_all_candidates([candidates for _, candidates in requests])
        together = self._join_lists(requests)
        return encode_each(self, requests) if together is None else together

    def join(self, contexts: Array, vectors: Array, counts: Sequence[int]) -> Array:
        """The rows of contexts `(n, context)` with so many `vectors` `(m, action)` each, or the same for all."""
        if self.joint == "action" and len(vectors) == sum(counts):
            return normalise(np.ascontiguousarray(vectors), self.normalise)  # `written` leaves gaps between them
        crossed = self.context * self.action if self.joint == "outer" else 0
        own = 0 if self.joint == "action" else self.context
        phi = np.empty((sum(counts), self.dimension))
        c, a = phi[:, crossed : crossed + own], phi[:, crossed + own :]
        if len(vectors) == len(phi):
            a[:] = vectors
        else:
            a.reshape(len(contexts), *vectors.shape)[:] = vectors
        if own and len(contexts) == 1:
            c[:] = contexts
        elif own and len(set(counts)) == 1:
            c.reshape(len(contexts), counts[0], own)[:] = contexts[:, None]  # `c` as it is, seen by decisions
        elif own:
            c[:] = contexts.repeat(counts, axis=0)
        if crossed:
            products = phi[:, :crossed].reshape(len(phi), self.context, self.action)  # a view of them
            np.multiply(c[:, :, None], a[:, None, :], out=products)
        return normalise(phi, self.normalise)

    def _join_lists(self, requests: Sequence[tuple[Any, Sequence[Described]]]) -> Array | None:
        """The rows of all requests, if they are lists of numbers and nothing at all is wrong; None otherwise."""
        if not self.joins_vectors:
            return None
        contexts = [[] if context is None else context for context, _ in requests]
        given = [candidate.features for _, candidates in requests for candidate in candidates]
        vectors = [[] if features is None else features for features in given]
        if not (are_lists(contexts, self.context) and are_lists(vectors, self.action)):
            return None
        numbers = floats_of(chain(contexts, vectors))
        if numbers is None:
            return None
        cut = len(contexts) * self.context
        c, a = numbers[:cut].reshape(len(contexts), self.context), numbers[cut:].reshape(len(vectors), self.action)
        return self.join(c, a, [len(candidates) for _, candidates in requests])

    def _vectors(self, candidates: Sequence[Described]) -> Array:
        """The actions' own vectors, `(K, action)`."""
        rows = np.empty((len(candidates), self.action))
        for index, candidate in enumerate(candidates):
            values = [] if candidate.features is None else candidate.features
            rows[index] = checked_vector(values, self.action, f"/actions/{index}/features")
        return rows

    def _numbers(self, candidates: Sequence[Described]) -> list[int]:
        """The place of each candidate in the declared list."""
        for index, candidate in enumerate(candidates):
            if candidate.id not in self._index:
                raise InvalidInput(f"/actions/{index}/id", "is not among the learner's declared actions")
            if candidate.features not in (None, [], ()):
                raise InvalidInput(f"/actions/{index}/features", f"joint {self.joint} takes no action features")
        return [self._index[candidate.id] for candidate in candidates]

    def _blocks(self, c: Array, candidates: Sequence[Described]) -> Array:
        """For `disjoint`."""
        block = c if self.context else np.ones(1)
        phi = np.zeros((len(candidates), len(self.actions), len(block)))
        phi[np.arange(len(candidates)), self._numbers(candidates)] = block
        return normalise(phi.reshape(len(candidates), -1), self.normalise)

    def _cells(self, c: Array, candidates: Sequence[Described]) -> Array:
        """For `cell`."""
        state = c[0]
        if state != int(state) or not 0 <= state < self.states:
            raise InvalidInput("/context/0", f"must be a whole number from 0 to {self.states - 1}")
        cells: Array = state * len(self.actions) + np.array([self._numbers(candidates)], dtype=np.float64).T
        return cells
