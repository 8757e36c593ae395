"""JSON objects of named features, hashed into a fixed number of signed columns (`features.kind: "json"`).

A number counts as its value under its name; a text or a boolean as 1 under its name and value; an array of numbers as
one number per index; an object as a namespace, one level deep. Names that start with `_` are ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_choice, demand_texts, demand_whole, is_text
from holdfast.errors import InvalidInput
from holdfast.features.candidates import Described, check_candidates, encode_each
from holdfast.features.hashing import Hashes, hash_name, hash_pairs, scatter
from holdfast.features.limits import (
    DIMENSION_MAX,
    INTERACTIONS_MAX,
    NAME_LENGTH_MAX,
    PAIRS_MAX,
    PAIRS_PER_REQUEST_MAX,
    TEXT_LENGTH_MAX,
    TOKENS_MAX,
)
from holdfast.features.normalise import NORMALISATIONS, Normalisation, normalise
from holdfast.features.numbers import NUMBER_TYPES, within_bounds

_INTERACTIONS_RULE = f"interactions must be a list of at most {INTERACTIONS_MAX} pairs of names"


class Token(NamedTuple):
    """One hashed feature."""

    namespace: str
    hash: int
    value: float


class Group(NamedTuple):
    """Features that can be crossed with another group."""

    hashes: Hashes
    values: Array


@dataclass(frozen=True)
class Hashed:
    """`interactions` name what is crossed: a side (`context`, `action`) or a namespace of either.

    >>> from holdfast.features import Candidate
    >>> phi = Hashed(dimension=16).encode({"hour": 0.5}, [Candidate("a", {"genre": "jazz"})])
    >>> phi.shape, bool(abs((phi**2).sum() - 1) < 1e-12)
    ((1, 16), True)
    """

    dimension: int = 128
    interactions: tuple[tuple[str, str], ...] = (("context", "action"),)
    normalise: Normalisation = "clip"

    def __post_init__(self) -> None:
        demand_whole("dimension", self.dimension, 1, DIMENSION_MAX)
        demand_choice("normalise", self.normalise, NORMALISATIONS)
        pairs = self.interactions
        demand(isinstance(pairs, list | tuple) and len(pairs) <= INTERACTIONS_MAX, _INTERACTIONS_RULE)
        for pair in pairs:
            demand_texts("the names of an interaction", pair, NAME_LENGTH_MAX)
            demand(len(pair) == 2, _INTERACTIONS_RULE)
        demand(len({tuple(pair) for pair in pairs}) == len(pairs), "interactions must be unique")

    def encode_all(self, requests: Sequence[tuple[Any, Sequence[Described]]]) -> Array:
        return encode_each(self, requests)

    def encode(self, context: Any, candidates: Sequence[Described]) -> Array:
        check_candidates(candidates)
        shared = list(read_tokens("context", context, "/context"))
        phi = np.empty((len(candidates), self.dimension))
        pairs_left = PAIRS_PER_REQUEST_MAX
        for index, candidate in enumerate(candidates):
            pointer = f"/actions/{index}/features"
            own = list(read_tokens("action", candidate.features, pointer))
            hashes, values = self._expand(shared, own, pointer)
            pairs_left -= len(hashes)
            if pairs_left < 0:
                raise InvalidInput("/actions", f"at most {PAIRS_PER_REQUEST_MAX} feature terms in one request")
            phi[index] = scatter(hashes, values, self.dimension)
        return normalise(phi, self.normalise)

    def _expand(self, context: list[Token], action: list[Token], pointer: str) -> Group:
        """The constant, all features, and the products of the groups that interact."""
        everything = context + action
        groups = [_CONSTANT, _group(everything)]
        for left_name, right_name in self.interactions:
            left, right = (_select(name, context, action) for name in (left_name, right_name))
            if len(left.values) * len(right.values) > PAIRS_MAX:
                raise InvalidInput(pointer, f"at most {PAIRS_MAX} terms per interaction and action")
            products: Array = np.outer(left.values, right.values).ravel()
            groups.append(Group(hash_pairs(left.hashes, right.hashes), products))
        return Group(np.concatenate([g.hashes for g in groups]), np.concatenate([g.values for g in groups]))


def read_tokens(side: str, features: Any, pointer: str) -> Iterator[Token]:
    """The features of one object; `side` is `context` or `action`, so that equal names on both sides differ."""
    if features is None:
        return
    if not isinstance(features, Mapping):
        raise InvalidInput(pointer, "must be an object of features")
    count = 0
    for namespace, name, value, where in _leaves(features, pointer):
        for token in _tokens_of(side, namespace, name, value, where):
            count += 1
            if count > TOKENS_MAX:
                raise InvalidInput(pointer, f"must have at most {TOKENS_MAX} features")
            yield token


def _leaves(features: Mapping[str, Any], pointer: str) -> Iterator[tuple[str, str, Any, str]]:
    """Namespace, name, value and place of every feature."""
    for name, value in _named(features, pointer):
        where = f"{pointer}/{_escaped(name)}"
        if not isinstance(value, Mapping):
            yield "", name, value, where
            continue
        if not name:
            raise InvalidInput(where, "a namespace needs a name")
        for inner, inner_value in _named(value, where):
            yield name, inner, inner_value, f"{where}/{_escaped(inner)}"


def _named(features: Mapping[str, Any], pointer: str) -> Iterator[tuple[str, Any]]:
    for name, value in features.items():
        if not is_text(name, NAME_LENGTH_MAX):
            raise InvalidInput(pointer, f"names must be Unicode text of at most {NAME_LENGTH_MAX} characters")
        if not name.startswith("_"):
            yield name, value


def _tokens_of(side: str, namespace: str, name: str, value: Any, pointer: str) -> Iterator[Token]:
    if isinstance(value, str):
        if not is_text(value, TEXT_LENGTH_MAX):
            raise InvalidInput(pointer, f"must be Unicode text of at most {TEXT_LENGTH_MAX} characters")
        yield Token(namespace, hash_name("text", side, namespace, name, value), 1.0)
    elif isinstance(value, bool):
        yield Token(namespace, hash_name("flag", side, namespace, name, "true" if value else "false"), 1.0)
    elif type(value) in NUMBER_TYPES:
        number = float(within_bounds([value], pointer)[0])
        yield Token(namespace, hash_name("number", side, namespace, name), number)
    elif isinstance(value, list | tuple) and set(map(type, value)) <= NUMBER_TYPES:
        for index, number in enumerate(within_bounds(value, pointer).tolist()):
            yield Token(namespace, hash_name("array", side, namespace, name, str(index)), number)
    elif isinstance(value, Mapping):
        raise InvalidInput(pointer, "namespaces may be one level deep")
    else:
        raise InvalidInput(pointer, "must be a number, text, boolean or array of numbers")


def _select(name: str, context: list[Token], action: list[Token]) -> Group:
    """The features that `name` stands for in an interaction."""
    if name == "context":
        return _group(context)
    if name == "action":
        return _group(action)
    return _group([token for token in context + action if token.namespace == name])


def _group(tokens: list[Token]) -> Group:
    hashes = np.array([token.hash for token in tokens], dtype=np.uint64)
    return Group(hashes, np.array([token.value for token in tokens], dtype=np.float64))


# Part of every candidate, so that one without features is not the zero vector.
_CONSTANT = _group([Token("", hash_name("constant"), 1.0)])


def _escaped(name: str) -> str:
    """A name as a step of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")
