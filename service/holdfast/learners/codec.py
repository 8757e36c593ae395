"""State ↔ bytes: versioned, checksummed, never pickle, and without a clock, so equal states give equal bytes.

    magic (8 bytes) | version (u16) | SHA-256 of the body (32 bytes) | body

The body is one safetensors file: a JSON header and raw little-endian arrays, one per leaf of the state under its
dotted path (`function.root`, `noise.mass`, …). The types come from the learner that reads, never from the file, and so
do the shapes, but for the first length of those arrays that their NamedTuple calls `growing`.
"""

import hashlib
import struct
from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from holdfast.errors import DamagedState, MismatchedState, UnknownVersion

MAGIC = b"HOLDFAST"
VERSION = 1
_PREFIX = struct.Struct("<8sH32s")

StateT = TypeVar("StateT", bound=tuple[Any, ...])
Leaf = npt.NDArray[Any]


class Learner(Protocol[StateT]):
    """What can be saved: something with a fresh state, and a judgement of others."""

    def init(self) -> StateT: ...

    def check_state(self, state: StateT) -> None:
        """Refuse a state of the right shape that no fold of this learner could have reached."""


def encode(state: tuple[Any, ...]) -> bytes:
    """The state as a file."""
    body = save({path: np.asarray(leaf, order="C") for path, leaf in _leaves(state)})
    return _PREFIX.pack(MAGIC, VERSION, hashlib.sha256(body).digest()) + body


def decode(data: bytes, like: StateT) -> StateT:
    """The state in a file, for the learner whose fresh state is `like`."""
    leaves = _load(_verified_body(data))
    growing = set(_growing(like))
    expected = {path: _signature(leaf, path in growing) for path, leaf in _leaves(like)}
    if {path: _signature(leaf, path in growing) for path, leaf in leaves.items()} != expected:
        raise MismatchedState("the state belongs to a learner of another shape")
    if not all(_is_sound(path, leaf) for path, leaf in leaves.items()):
        raise DamagedState("the state holds numbers that are not finite")
    rebuilt: StateT = _rebuild(like, leaves, "")
    return rebuilt


def restore(data: bytes, learner: Learner[StateT]) -> StateT:
    """The state in a file, for this learner: decoded, and found to be one that it can go on from."""
    state = decode(data, like=learner.init())
    learner.check_state(state)
    return state


def _is_sound(path: str, leaf: Leaf) -> bool:
    """Finite everywhere; α alone may be +∞, when nothing is insured."""
    return bool(np.isfinite(leaf).all() or (path == "alpha" and leaf == np.inf))


def _verified_body(data: bytes) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise DamagedState("a state is bytes")
    data = bytes(data)
    if len(data) < _PREFIX.size:
        raise DamagedState("the state is shorter than its own header")
    magic, version, digest = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        raise DamagedState("this is not a Holdfast state")
    if version != VERSION:
        raise UnknownVersion(f"the state has format version {version}; this release reads version {VERSION}")
    body = data[_PREFIX.size :]
    if hashlib.sha256(body).digest() != digest:
        raise DamagedState("the state's checksum does not match its content")
    return body


def _load(body: bytes) -> dict[str, Leaf]:
    try:
        return load(body)
    except (SafetensorError, KeyError, ValueError):
        raise DamagedState("the state's content cannot be read") from None


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Every array and number of a state with its dotted path."""
    if not isinstance(node, tuple):
        yield path, np.asarray(node)
        return
    for name, child in _children(node, path):
        yield from _leaves(child, name)


def _growing(node: Any, path: str = "") -> Iterator[str]:
    """The paths of the arrays whose length is not settled by the learner's description."""
    if isinstance(node, tuple):
        names = node.growing() if hasattr(node, "growing") else ()
        yield from (f"{path}.{name}" if path else name for name in names)
        for name, child in _children(node, path):
            yield from _growing(child, name)


def _rebuild(like: Any, leaves: dict[str, Leaf], path: str) -> Any:
    """The same tree as `like`, with the leaves of the file; numbers become Python numbers again."""
    if not isinstance(like, tuple):
        return leaves[path].copy() if isinstance(like, np.ndarray) else leaves[path].item()
    children = (_rebuild(child, leaves, name) for name, child in _children(like, path))
    return type(like)(*children) if hasattr(like, "_fields") else tuple(children)


def _children(node: tuple[Any, ...], path: str) -> Iterator[tuple[str, Any]]:
    """What a state is made of, each part with its path: by name, or by number where several are alike."""
    names = getattr(node, "_fields", range(len(node)))
    for name, child in zip(names, node, strict=True):
        yield (f"{path}.{name}" if path else str(name)), child


def _signature(leaf: Leaf, grows: bool) -> tuple[str, tuple[int, ...]]:
    return leaf.dtype.str, (-1, *leaf.shape[1:]) if grows and leaf.ndim else leaf.shape
