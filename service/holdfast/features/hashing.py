"""The hash of a feature's name: the same on every machine and in every version, for ever.

A saved learner is useless if a name moves to another column, so this file may only be added to. The test vectors in
`tests/features/hash_vectors.json` hold it to that.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array

Hashes: TypeAlias = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@lru_cache(maxsize=16_384)
def hash_name(*parts: str) -> int:
    """64 bits of a sequence of texts: BLAKE2b of each part's UTF-8 length and bytes, little-endian."""
    digest = blake2b(digest_size=8)
    for part in parts:
        encoded = part.encode("utf-8")
        digest.update(len(encoded).to_bytes(4, "little") + encoded)
    return int.from_bytes(digest.digest(), "little")


def hash_pairs(left: Hashes, right: Hashes) -> Hashes:
    """The hash of every pair, `(n,)` and `(m,)` → `(n·m,)`: SplitMix64's finaliser of left + golden·right."""
    mixed: Hashes = (left[:, None] + _GOLDEN * right[None, :]).ravel()
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    return mixed ^ (mixed >> np.uint64(31))


def scatter(hashes: Hashes, values: Array, dimension: int) -> Array:
    """Sum values into columns: the lowest bit of a hash is the sign, the others choose the column."""
    columns = (hashes >> np.uint64(1)) % np.uint64(dimension)
    signs = 1.0 - 2.0 * (hashes & np.uint64(1)).astype(np.float64)
    return np.bincount(columns.astype(np.intp), weights=signs * values, minlength=dimension).astype(np.float64)
