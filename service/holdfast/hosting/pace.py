"""How long a learner takes for what it is asked, so that whatever takes long is done where nobody waits for it."""

import math
from collections.abc import Sequence
from typing import Protocol


class Sized(Protocol):
    """An operation, as far as this matters here."""

    @property
    def size(self) -> int: ...


class Pace:
    """Seconds for each unit of size, by kind of operation: half of it what the last ones took.

    >>> from holdfast.hosting.settle import Settle
    >>> pace = Pace()
    >>> pace.expected_s([Settle("home")])
    inf
    >>> pace.took([Settle("home"), Settle("home")], 4.0)
    >>> pace.took([Settle("home")], 1.0)
    >>> pace.expected_s([Settle("home")])
    1.5
    """

    def __init__(self) -> None:
        self._seconds: dict[type, float] = {}

    def expected_s(self, operations: Sequence[Sized]) -> float:
        """Of a kind that was never seen, anything may be expected."""
        known = self._seconds
        return sum(known.get(type(operation), math.inf) * operation.size for operation in operations)

    def took(self, alike: Sequence[Sized], seconds: float) -> None:
        """Operations of one kind have been performed together."""
        each = seconds / max(1, sum(operation.size for operation in alike))
        self._seconds[type(alike[0])] = (self._seconds.get(type(alike[0]), each) + each) / 2
