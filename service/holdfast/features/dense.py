"""Numeric vectors of fixed length for context and action, joined into one row φ per candidate."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any, Literal

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_choice, demand_texts, demand_whole
from holdfast.errors import InvalidInput
from holdfast.features.candidates import Described, check_all_candidates, check_candidates
from holdfast.features.limits import DIMENSION_MAX, ID_LENGTH_MAX, STATES_MAX, VECTOR_LENGTH_MAX
from holdfast.features.normalise import NORMALISATIONS, Normalisation, normalise
from holdfast.features.numbers import are_lists, checked_vector, floats_of

Joint = Literal["action", "concat", "outer", "disjoint", "cell"]


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
        demand_choice("joint", self.joint, _JOINERS)
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

    def encode(self, context: Any, candidates: Sequence[Described]) -> Array:
        check_candidates(candidates)
        together = self._joined_at_once([(context, candidates)])
        if together is not None:
            return normalise(together, self.normalise)
        c = checked_vector([] if context is None else context, self.context, "/context")
        phi = _JOINERS[self.joint](self, c, candidates)
        return phi if self.joint == "cell" else normalise(phi, self.normalise)

    def encode_all(self, requests: Sequence[tuple[Any, Sequence[Described]]]) -> list[Array]:
        check_all_candidates([candidates for _, candidates in requests])
        together = self._joined_at_once(requests)
        if together is None:
            return [self.encode(context, candidates) for context, candidates in requests]
        phi = normalise(together, self.normalise)
        ends = list(accumulate(len(candidates) for _, candidates in requests))
        return [phi[start:end] for start, end in pairwise([0, *ends])]

    def _joined_at_once(self, requests: Sequence[tuple[Any, Sequence[Described]]]) -> Array | None:
        """The rows of all requests, where joining is copying and nothing at all is wrong; None otherwise."""
        if self.joint not in ("concat", "action"):
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
        actions = numbers[cut:].reshape(len(vectors), self.action)
        if self.joint == "action":
            return actions
        c = numbers[:cut].reshape(len(contexts), self.context)
        phi = np.empty((len(vectors), self.context + self.action))
        phi[:, : self.context] = c if len(c) == 1 else c.repeat([len(k) for _, k in requests], axis=0)
        phi[:, self.context :] = actions
        return phi

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


def _join_action(dense: Dense, c: Array, candidates: Sequence[Described]) -> Array:
    return dense._vectors(candidates)


def _join_concat(dense: Dense, c: Array, candidates: Sequence[Described]) -> Array:
    phi = np.empty((len(candidates), dense.dimension))
    phi[:, : dense.context] = c
    phi[:, dense.context :] = dense._vectors(candidates)
    return phi


def _join_outer(dense: Dense, c: Array, candidates: Sequence[Described]) -> Array:
    a = dense._vectors(candidates)
    crossed = (c[None, :, None] * a[:, None, :]).reshape(len(a), -1)
    return np.concatenate([crossed, np.broadcast_to(c, (len(a), len(c))), a], axis=1)


def _join_disjoint(dense: Dense, c: Array, candidates: Sequence[Described]) -> Array:
    block = c if dense.context else np.ones(1)
    phi = np.zeros((len(candidates), len(dense.actions), len(block)))
    phi[np.arange(len(candidates)), dense._numbers(candidates)] = block
    return phi.reshape(len(candidates), -1)


def _join_cell(dense: Dense, c: Array, candidates: Sequence[Described]) -> Array:
    state = c[0]
    if state != int(state) or not 0 <= state < dense.states:
        raise InvalidInput("/context/0", f"must be a whole number from 0 to {dense.states - 1}")
    cells: Array = state * len(dense.actions) + np.array([dense._numbers(candidates)], dtype=np.float64).T
    return cells


_JOINERS = {
    "action": _join_action,
    "concat": _join_concat,
    "outer": _join_outer,
    "disjoint": _join_disjoint,
    "cell": _join_cell,
}
