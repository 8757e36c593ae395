"""The statements that carry the traffic, in each database's own way of taking many rows at once; and the sweep's.

They go to the driver itself: SQLAlchemy's way of sending them costs more than running them. Everything else in this
package is sent its way, over the same connection and in the same transaction.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection

Rows = list[tuple[Any, ...]]


class Alike(NamedTuple):
    """Events of one learner, at successive positions, that are about nothing and differ in id and payload alone."""

    learner_id: int
    first: int  # position
    kind: str
    at: int
    event_ids: list[str]
    payloads: list[bytes]
    deadline: int  # of their waits

    @property
    def last(self) -> int:
        return self.first + len(self.event_ids) - 1

    def heading(self) -> "Alike":
        """What they have in common, without what differs."""
        return Alike(self.learner_id, self.first, self.kind, self.at, [], [], self.deadline)


class Changes(NamedTuple):
    """What a transaction writes. What begins to wait may also be settled, so that comes later."""

    events: Rows  # learner, and the fields of an Event
    waiting: Rows  # learner, position, deadline
    settled: Rows  # learner, position
    heads: Rows  # learner, head
    alike: Sequence[Alike] = ()  # before all others

    def are_one_alike(self) -> bool:
        """Whether it is what one learner has decided, and nothing else."""
        return len(self.alike) == 1 == len(self.heads) and not (self.events or self.waiting or self.settled)

    def size(self) -> int:
        """Of events."""
        return len(self.events) + sum(len(some.event_ids) for some in self.alike)


class Locked(NamedTuple):
    """What a learner's row says while it is held."""

    head: int
    mode: str
    paused: bool
    spec: str


# What the sweep looks for, where a driver's way to name parameters goes. The oldest wait is the first in its index: of
# `min` PostgreSQL could make a walk over all that wait, if it plans while they are few.
OVERDUE = """
    SELECT name FROM (
        SELECT name, (SELECT deadline FROM waiting WHERE learner_id = id ORDER BY deadline LIMIT 1) AS oldest
        FROM learners WHERE NOT paused
    ) AS awaited
    WHERE oldest <= {now} ORDER BY oldest LIMIT {limit}
"""
BEING_REMOVED = "SELECT id FROM learners WHERE spec = ''"


class Overtaken(Exception):
    """A learner's row is not as it was believed to be: somebody else has written. The transaction did not happen."""


class Bulk(Protocol):
    """What a transaction of the log sends over a driver's connection, and the sweep. Events come as the fields of an
    Event, what was found with its deadline.
    """

    def lock(self, learner_id: int, believed: Locked | None = None) -> Locked | None:
        """What is believed may be taken on trust for now: if it is wrong, a later question or the commit says so."""

    def find(self, learner_id: int, event_ids: Sequence[str]) -> Iterable[tuple[Any, ...]]: ...
    def said(self, learner_id: int, positions: Sequence[int]) -> Iterable[tuple[Any, ...]]: ...
    def heard(self, learner_id: int, positions: Sequence[int]) -> Iterable[tuple[Any, ...]]: ...
    def overdue(self, now: int, limit: int) -> list[str]: ...
    def being_removed(self) -> list[int]: ...
    def write(self, changes: Changes, is_last: bool = False) -> None:
        """If nothing is asked after it but the commit, it may be done with that."""


def driver_of(connection: Connection) -> Any:
    """The driver's own connection."""
    return connection.connection.driver_connection
