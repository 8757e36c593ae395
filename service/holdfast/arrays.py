"""The one array type of the pure packages, and how a list or an array of many things is cut."""

from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]


def cuts(lengths: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Where pieces of these lengths begin and end, one after the other.

    >>> list(cuts([2, 0, 3]))
    [(0, 2), (2, 2), (2, 5)]
    """
    return pairwise([0, *accumulate(lengths)])
