"""One ordered log per learner, written in transactions that many requests share.

Invariants
1. Positions are handed out while the learner's row is locked: no gap, no reuse, commit order (P5).
2. Reads inside a transaction see what it has buffered, so neighbours in one batch see each other.
3. Nothing is sent to the database before `flush`; a refused operation has buffered nothing.
4. Whatever is buffered comes with an event, so a transaction that moved no head has nothing to send.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from holdfast.store import idempotency
from holdfast.store.bulk import Alike, Changes, Locked
from holdfast.store.dialects import bulk_of
from holdfast.store.idempotency import FirstAnswer
from holdfast.store.tables import events, learners, waiting

CHUNK = 500  # parameters in one IN (…), and events in one read


class Event(NamedTuple):
    """One row of a log."""

    position: int
    kind: str
    event_id: str
    at: int
    source: str | None
    about: int | None
    payload: bytes


class Found(NamedTuple):
    """An event looked up by its id, and the end of its reward wait if it is still waiting."""

    event: Event
    deadline: int | None


# An event of many that are alike: what they have in common, its position, its payload. Most are never looked at again.
Kept = tuple[Alike, int, bytes]


def found_of(event_id: str, kept: Kept) -> Found:
    alike, position, payload = kept
    return Found(Event(position, alike.kind, event_id, alike.at, None, None, payload), alike.deadline)


_ABOUT = Event._fields.index("about")
_COLUMNS = tuple(events.c[name] for name in Event._fields)


class Transaction:
    """What one commit will hold."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._bulk = bulk_of(connection)
        self._heads: dict[int, int] = {}
        self._new_events: list[tuple[Any, ...]] = []
        self._new_alike: list[Alike] = []
        self._new_waiting: dict[tuple[int, int], int] = {}  # deadlines, by learner and position
        self._settled: list[tuple[Any, ...]] = []
        # By learner and event id; what is found is newer than what was kept.
        self._found: defaultdict[int, dict[str, Found]] = defaultdict(dict)
        self._kept: defaultdict[int, dict[str, Kept]] = defaultdict(dict)
        self._said: dict[tuple[int, int], list[Event]] = {}
        self._first_answers: dict[tuple[str, str], FirstAnswer] = {}
        self._new_answers: dict[tuple[str, str], FirstAnswer] = {}
        self._answered_at = 0

    def lock(self, learner_id: int, believed: Locked | None = None) -> Locked | None:
        """Take the learner's row for this transaction: its head and description, or None if it is gone.

        Who believes to know them may be answered with that. If it is wrong, the transaction ends with `Overtaken`.
        """
        return self._bulk.lock(learner_id, believed)

    def append(self, learner_id: int, event: Event, deadline: int | None = None) -> None:
        """Buffer an event, which has the next position; a decision waits for its reward until its deadline."""
        self._heads[learner_id] = event.position
        self._new_events.append((learner_id, *event))
        if deadline is not None:
            self._new_waiting[learner_id, event.position] = deadline
        self._found[learner_id][event.event_id] = Found(event, deadline)
        if event.about is not None and (learner_id, event.about) in self._said:
            self._said[learner_id, event.about].append(event)

    def append_alike(self, alike: Alike) -> dict[str, Kept]:
        """`append` of all of them; what `find` will tell of each, by its id."""
        self._heads[alike.learner_id] = alike.last
        self._new_alike.append(alike)
        positions = range(alike.first, alike.last + 1)
        headings = [alike.heading()] * len(positions)
        kept = dict(zip(alike.event_ids, zip(headings, positions, alike.payloads, strict=True), strict=True))
        self._kept[alike.learner_id].update(kept)
        return kept

    def settle(self, learner_id: int, event: Event) -> None:
        """Buffer that a decision waits no more."""
        if self._new_waiting.pop((learner_id, event.position), None) is None:
            self._settled.append((learner_id, event.position))
        self._found[learner_id][event.event_id] = Found(event, None)

    def look_up(self, learner_id: int, event_ids: Iterable[str]) -> None:
        """Read events by id in as few queries as possible, for `find`."""
        found = self._found[learner_id]
        unknown = [name for name in dict.fromkeys(event_ids) if name not in found]
        for start in range(0, len(unknown), CHUNK):
            for row in self._bulk.find(learner_id, unknown[start : start + CHUNK]):
                event = Event(*row[:-1])
                found[event.event_id] = Found(event, row[-1])

    def know(self, learner_id: int, found: Found) -> None:
        """What the caller knows the log to hold, for `find`."""
        self._found[learner_id][found.event.event_id] = found

    def find(self, learner_id: int, event_id: str) -> Found | None:
        """An event that `look_up` has read, `know` was told or this transaction has buffered."""
        found = self._found[learner_id].get(event_id)
        if found is None and (kept := self._kept[learner_id].get(event_id)) is not None:
            return found_of(event_id, kept)
        return found

    def hear(self, learner_id: int, positions: Iterable[int]) -> None:
        """Read what was said of the events at these positions, for `said`."""
        unknown = [p for p in dict.fromkeys(positions) if (learner_id, p) not in self._said]
        if not unknown:
            return
        for position in unknown:
            self._said[learner_id, position] = []
        for start in range(0, len(unknown), CHUNK):
            for row in self._bulk.heard(learner_id, unknown[start : start + CHUNK]):
                self._said[learner_id, row[_ABOUT]].append(Event(*row))
        for owner, *fields in self._new_events:
            event = Event(*fields)
            if owner == learner_id and event.about in unknown:
                self._said[learner_id, event.about].append(event)

    def said(self, learner_id: int, position: int) -> list[Event]:
        """What was said of an event, in order. Steps are large: theirs is an empty payload; look them up by id."""
        self.hear(learner_id, [position])
        return self._said[learner_id, position]

    def recall_all(self, names: Sequence[tuple[str, str]]) -> None:
        """Read first answers by scope and Idempotency-Key, for `recall`."""
        if names:
            self._first_answers |= idempotency.recall_all(self.connection, names)

    def recall(self, scope: str, key: str) -> FirstAnswer | None:
        """A first answer that `recall_all` has read or this transaction has buffered."""
        return self._new_answers.get((scope, key)) or self._first_answers.get((scope, key))

    def remember(self, scope: str, key: str, answer: FirstAnswer, now: int) -> None:
        """Buffer the answer to a keyed request, to be kept with its effect."""
        self._new_answers[scope, key] = answer
        self._answered_at = now

    def flush(self, is_last: bool = False) -> None:
        """Send everything so far; the commit is the caller's. Whoever must read the log itself sends it first.

        What is sent last may be put off until the commit, which follows.
        """
        if self._new_answers:  # first: what is sent last may be all that is sent
            idempotency.remember_all(self.connection, self._new_answers, self._answered_at)
            self._first_answers |= self._new_answers
            self._new_answers = {}
        if self._heads:
            waiting = [(*place, deadline) for place, deadline in self._new_waiting.items()]
            changes = Changes(self._new_events, waiting, self._settled, list(self._heads.items()), self._new_alike)
            self._bulk.write(changes, is_last)
            self._heads, self._new_events, self._new_alike, self._new_waiting, self._settled = {}, [], [], {}, []


def events_after(
    connection: Connection, learner_id: int, position: int, limit: int = CHUNK, bytes_max: int | None = None
) -> list[Event]:
    """The next events of a log, in order; no more than fit into `bytes_max`, but at least one."""
    if bytes_max is not None:
        limit = _fitting(connection, learner_id, position, limit, bytes_max)
    query = (
        select(*_COLUMNS)
        .where(events.c.learner_id == learner_id, events.c.position > position)
        .order_by(events.c.position)
        .limit(limit)
    )
    return [Event(*row) for row in connection.execute(query)]


def _fitting(connection: Connection, learner_id: int, position: int, limit: int, bytes_max: int) -> int:
    sizes = (
        select(func.length(events.c.payload))
        .where(events.c.learner_id == learner_id, events.c.position > position)
        .order_by(events.c.position)
        .limit(limit)
    )
    ends = accumulate(connection.execute(sizes).scalars())
    return max(1, sum(1 for end in ends if end <= bytes_max))


def events_at(connection: Connection, learner_id: int, positions: Sequence[int]) -> dict[int, Event]:
    """Events by position."""
    found: dict[int, Event] = {}
    for start in range(0, len(positions), CHUNK):
        wanted = positions[start : start + CHUNK]
        query = select(*_COLUMNS).where(events.c.learner_id == learner_id, events.c.position.in_(wanted))
        found.update((row.position, Event(*row)) for row in connection.execute(query))
    return found


def events_about(connection: Connection, learner_id: int, positions: Sequence[int]) -> dict[int, list[Event]]:
    """What was said of the decisions at these positions, in order."""
    said: dict[int, list[Event]] = {position: [] for position in positions}
    for start in range(0, len(positions), CHUNK):
        for row in bulk_of(connection).said(learner_id, positions[start : start + CHUNK]):
            said[row[_ABOUT]].append(Event(*row))
    return said


def due(connection: Connection, learner_id: int, now: int, limit: int = CHUNK) -> list[Row[Any]]:
    """Decisions whose wait has ended, oldest first."""
    query = (
        select(waiting.c.position, waiting.c.deadline)
        .where(waiting.c.learner_id == learner_id, waiting.c.deadline <= now)
        .order_by(waiting.c.deadline, waiting.c.position)
        .limit(limit)
    )
    return list(connection.execute(query))


def overdue(connection: Connection, now: int, limit: int) -> list[str]:
    """The learners with a decision whose wait has ended, the longest ago first; a paused one settles nothing."""
    return bulk_of(connection).overdue(now, limit)


def event_named(connection: Connection, learner_id: int, event_id: str) -> Event | None:
    """One event by its id."""
    query = select(*_COLUMNS).where(events.c.learner_id == learner_id, events.c.event_id == event_id)
    row = connection.execute(query).first()
    return None if row is None else Event(*row)


def latest(connection: Connection, learner_id: int, kind: str, among: int) -> list[int]:
    """The positions of the events of one kind among the newest so many of all, the newest first."""
    newest = (
        select(events.c.position, events.c.kind)
        .where(events.c.learner_id == learner_id)
        .order_by(events.c.position.desc())
        .limit(among)
    )
    return [row.position for row in connection.execute(newest) if row.kind == kind]


def goes_beyond_head(connection: Connection, learner_id: int) -> bool:
    """Whether a log holds more than its learner's row says; both are written at once."""
    last = select(func.max(events.c.position)).where(events.c.learner_id == learner_id).scalar_subquery()
    return bool(connection.execute(select(last > learners.c.head).where(learners.c.id == learner_id)).scalar())


def count_waiting(connection: Connection, learner_id: int) -> int:
    """How many decisions wait for their reward."""
    query = select(func.count()).select_from(waiting).where(waiting.c.learner_id == learner_id)
    return int(connection.execute(query).scalar_one())
