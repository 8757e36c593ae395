"""Next states, each kept once: what makes the backward pass independent of how many transitions were seen.

| symbol          | name here  | meaning |
|-----------------|------------|---------|
| x'              | `rows`     | a next state: its candidates' features, rows starts[g] … starts[g+1] |
| Σ_{s→x'} ψ/σ²   | `brackets` | the weighted coordinates of every transition that led there |
| f^{h+1}(x')     | `values`   | what being there is worth, in the targets of those transitions; one column per fit |

Since the regression is linear in its targets, Σ ψy/σ² = Σ ψr/σ² + Σ_{x'} [Σ_{s→x'} ψ/σ²]·f^{h+1}(x'): no transition
needs to be kept.

States count as one when their candidates' features round to the same multiples of `width`; with a width of 0 when they
are equal. The table never holds more than `numbers_max` numbers: when it would, the width doubles and groups that now
coincide are merged into the oldest of them. Where nothing can be rounded (cells), or rounding has become too coarse,
the table is full for good: the learner then values a new next state once, when it first arrives there.

Two states whose 64-bit keys collide share a group, as they would under a coarser width.
"""

import hashlib
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array

WIDTH_FIRST, WIDTH_MAX = 2.0**-10, 0.25  # of the unit ball

Entry = TypeVar("Entry", bound=np.generic)


class Groups(NamedTuple):
    """A table whose arrays have room for a power of two of groups and rows; the rest is zero."""

    keys: npt.NDArray[np.uint64]  # (C,)
    starts: npt.NDArray[np.int64]  # (C + 1,)
    rows: Array  # (R, d)
    brackets: Array  # (C, m)
    values: Array  # (C, k)
    size: int
    width: float
    merges: int  # how often the groups were renumbered

    @staticmethod
    def growing() -> tuple[str, ...]:
        """The arrays whose length is not settled by the learner's description (see `codec.py`)."""
        return ("keys", "starts", "rows", "brackets", "values")


class Limits(NamedTuple):
    """How much a table may hold, and whether its states may be rounded."""

    numbers_max: int
    divisible: bool = True


def empty(dimension: int, parameters: int, fits: int, width: float) -> Groups:
    """No group, room for one."""
    keys, starts = np.zeros(1, dtype=np.uint64), np.zeros(2, dtype=np.int64)
    rows, brackets, values = np.zeros((1, dimension)), np.zeros((1, parameters)), np.zeros((1, fits))
    return Groups(keys, starts, rows, brackets, values, 0, width, 0)


def rows_of(groups: Groups) -> Array:
    """The candidates of every group, one below the other."""
    return groups.rows[: groups.starts[groups.size]]


def best_of_each(groups: Groups, scores: Array) -> Array:
    """The largest score among the candidates of each group: scores `(rows, k)` → `(groups, k)`."""
    if not groups.size:
        return scores[:0]
    best: Array = np.maximum.reduceat(scores, groups.starts[: groups.size], axis=0)
    return best


def moments_of(groups: Groups) -> Array:
    """Σ_{x'} [Σ_{s→x'} ψ/σ²]·f^{h+1}(x'), one row per fit `(k, m)`."""
    moments: Array = groups.values[: groups.size].T.dot(groups.brackets[: groups.size])
    return moments


def find(groups: Groups, options: Array) -> int:
    """The group of the state with these candidates, or −1."""
    found = np.flatnonzero(groups.keys[: groups.size] == _key(options, groups.width))
    return int(found[0]) if found.size else -1


def make_room(groups: Groups, options: Array, limits: Limits) -> Groups:
    """The table, made coarser until one more state fits, has a group after all, or no rounding is left to try."""
    while not has_room(groups, options, limits) and limits.divisible and groups.width < WIDTH_MAX:
        groups = _coarsened(groups, max(WIDTH_FIRST, 2.0 * groups.width))
        if find(groups, options) >= 0:
            break
    return groups


def has_room(groups: Groups, options: Array, limits: Limits) -> bool:
    """Whether a state with these candidates would fit."""
    per_group, per_row = groups.brackets.shape[1] + groups.values.shape[1] + 2, groups.rows.shape[1]
    rows = int(groups.starts[groups.size]) + len(options)
    numbers: int = (groups.size + 1) * per_group + rows * per_row
    return numbers <= limits.numbers_max


def append(groups: Groups, options: Array) -> Groups:
    """One more group, the last, worth 0 so far; in place where the arrays are long enough."""
    g, first = groups.size, int(groups.starts[groups.size])
    groups = _lengthened(groups, g + 1, first + len(options))
    groups.keys[g] = _key(options, groups.width)
    groups.rows[first : first + len(options)] = options
    groups.starts[g + 1] = first + len(options)
    return groups._replace(size=g + 1)


def _key(options: Array, width: float) -> np.uint64:
    """64 bits that say which state this is."""
    rounded = np.rint(options / width) + 0.0 if width else options + 0.0  # + 0.0: no negative zero
    digest = hashlib.blake2b(rounded.tobytes(), digest_size=8, salt=len(options).to_bytes(8, "little")).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _lengthened(groups: Groups, size: int, rows: int) -> Groups:
    """The same groups in arrays of at least these lengths; lengths depend on what is held, not on how it came."""
    capacity, row_capacity = _power_of_two(size), _power_of_two(rows)
    if capacity > len(groups.keys):
        groups = groups._replace(
            keys=_longer(groups.keys, capacity),
            starts=_longer(groups.starts, capacity + 1),
            brackets=_longer(groups.brackets, capacity),
            values=_longer(groups.values, capacity),
        )
    return groups._replace(rows=_longer(groups.rows, row_capacity)) if row_capacity > len(groups.rows) else groups


def _longer(array: npt.NDArray[Entry], length: int) -> npt.NDArray[Entry]:
    extended: npt.NDArray[Entry] = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    extended[: len(array)] = array
    return extended


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


def _coarsened(groups: Groups, width: float) -> Groups:
    """The same transitions in fewer groups: those that coincide at this width join the oldest, with its value."""
    coarse = empty(groups.rows.shape[1], groups.brackets.shape[1], groups.values.shape[1], width)
    coarse = coarse._replace(merges=groups.merges + 1)
    homes = dict[np.uint64, int]()
    for g in range(groups.size):
        options = groups.rows[groups.starts[g] : groups.starts[g + 1]]
        home = homes.get(_key(options, width), -1)
        if home < 0:
            home = homes[_key(options, width)] = coarse.size
            coarse = append(coarse, options)
            coarse.values[home] = groups.values[g]
        coarse.brackets[home] += groups.brackets[g]
    return coarse
