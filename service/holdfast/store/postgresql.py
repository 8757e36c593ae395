"""PostgreSQL: few statements for many rows, with an array for each column, in its binary format.

They are planned once for each connection, perhaps while the tables are empty, and the tables grow under the plan. So
each looks for its rows one by one (LATERAL, kept so by OFFSET 0), where there is one good index whatever the planner
believes. Left to itself it reads everything that waits for a reward to find a few of them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from struct import Struct, pack
from typing import Any

from holdfast.store.bulk import BEING_REMOVED, OVERDUE, Alike, Changes, Locked, Rows
from holdfast.store.deadline import BEGIN, ImpatientConnection

BYTEA, BIGINT, TEXT = 17, 20, 25  # the types' numbers in every PostgreSQL


class PostgreSQL:
    """Prepared once for each connection."""

    # NO KEY: whoever only refers to the learner, with a snapshot, need not wait.
    LOCK = "SELECT head, mode, paused, spec FROM learners WHERE id = $1 AND spec <> '' FOR NO KEY UPDATE"
    # As believed, or an error: what is sent behind it in the same round trip, the commit too, is then not done.
    LOCK_AS_BELIEVED = """
        SELECT 1 / count(*) FROM (
            SELECT FROM learners WHERE id = $1 AND head = $2 AND mode = $3::text AND paused = $4 AND spec = $5
            FOR NO KEY UPDATE
        ) AS believed
    """
    FIND = """
        SELECT found.*, (SELECT deadline FROM waiting w WHERE w.learner_id = $2 AND w.position = found.position)
        FROM unnest($1::text[]) AS wanted (id), LATERAL (
            SELECT position, kind, event_id, at, source, about, payload
            FROM events WHERE learner_id = $2 AND event_id = wanted.id OFFSET 0
        ) AS found
    """
    SAID = """
        SELECT said.* FROM unnest($1::bigint[]) AS wanted (position), LATERAL (
            SELECT position, kind, event_id, at, source, about, payload
            FROM events WHERE learner_id = $2 AND about = wanted.position OFFSET 0
        ) AS said
    """
    HEARD = SAID.replace("payload", "CASE kind WHEN 'step' THEN ''::bytea ELSE payload END AS payload")
    INSERT_EVENTS = """
        INSERT INTO events (learner_id, position, kind, event_id, at, source, about, payload)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[],
                             $5::bigint[], $6::text[], $7::bigint[], $8::bytea[])
    """
    INSERT_ALIKE = """
        INSERT INTO events (learner_id, position, kind, event_id, at, payload)
        SELECT $1::bigint, $2::bigint + number - 1, $3::text, id, $4::bigint, payload
        FROM unnest($5::text[], $6::bytea[]) WITH ORDINALITY AS new (id, payload, number)
    """
    AWAIT_ALIKE = """
        INSERT INTO waiting (learner_id, position, deadline)
        SELECT $1::bigint, position, $4::bigint FROM generate_series($2::bigint, $3::bigint) AS new (position)
    """
    INSERT_WAITING = """
        INSERT INTO waiting (learner_id, position, deadline)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
    """
    SETTLE = """
        DELETE FROM waiting WHERE ctid = ANY(ARRAY(
            SELECT found.ctid FROM unnest($2::bigint[]) AS gone (position), LATERAL (
                SELECT ctid FROM waiting WHERE learner_id = $1 AND position = gone.position OFFSET 0
            ) AS found
        ))
    """
    SET_HEAD = "UPDATE learners SET head = $2 WHERE id = $1"
    OVERDUE = OVERDUE.format(now="$1::bigint", limit="$2::bigint")
    # A whole transaction of decisions: LOCK_AS_BELIEVED, SET_HEAD, INSERT_ALIKE and AWAIT_ALIKE.
    DECIDE_AS_BELIEVED = """
        WITH believed AS (
            UPDATE learners SET head = $6 WHERE id = $1 AND head = $2 AND mode = $3::text AND paused = $4 AND spec = $5
            RETURNING id
        ), logged AS (
            INSERT INTO events (learner_id, position, kind, event_id, at, payload)
            SELECT believed.id, $2::bigint + number, $7::text, new.id, $8::bigint, payload
            FROM believed, unnest($9::text[], $10::bytea[]) WITH ORDINALITY AS new (id, payload, number)
        ), awaited AS (
            INSERT INTO waiting (learner_id, position, deadline)
            SELECT id, position, $11::bigint
            FROM believed, generate_series($2::bigint + 1, $6::bigint) AS new (position)
        )
        SELECT 1 / count(*) FROM believed
    """

    def __init__(self, driver: ImpatientConnection) -> None:
        self._driver = driver

    def lock(self, learner_id: int, believed: Locked | None = None) -> Locked | None:
        if believed is not None:  # saves a round trip
            head, mode, paused, spec = believed
            said = [_bigint(learner_id), _bigint(head), mode.encode(), b"\x01" if paused else b"\x00", spec.encode()]
            self._driver.put_off(self.LOCK_AS_BELIEVED, said)
            return believed
        rows = self._rows(self.LOCK, _LOCKED, _bigint(learner_id))
        return Locked(*rows[0]) if rows else None

    def find(self, learner_id: int, event_ids: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        return self._rows(self.FIND, [*_EVENT, _number], _texts(event_ids), _bigint(learner_id))

    def said(self, learner_id: int, positions: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        return sorted(self._rows(self.SAID, _EVENT, _numbers(positions), _bigint(learner_id)))

    def heard(self, learner_id: int, positions: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        return sorted(self._rows(self.HEARD, _EVENT, _numbers(positions), _bigint(learner_id)))

    def overdue(self, now: int, limit: int) -> list[str]:
        return [name for (name,) in self._rows(self.OVERDUE, [_text], _bigint(now), _bigint(limit))]

    def being_removed(self) -> list[int]:
        return [number for (number,) in self._rows(BEING_REMOVED, [_number])]

    def write(self, changes: Changes, is_last: bool = False) -> None:
        unsaid = self._driver.unsaid()
        if is_last and changes.are_one_alike() and [c.statement for c in unsaid] == [BEGIN, self.LOCK_AS_BELIEVED]:
            believed = unsaid[-1].parameters
            self._driver.do_at_once(self.DECIDE_AS_BELIEVED, [*believed, *_decided(changes.alike[0])])
        else:
            self._put_off(changes)

    def _put_off(self, changes: Changes) -> None:
        put_off = self._driver.put_off
        for alike in changes.alike:
            owner, first = _bigint(alike.learner_id), _bigint(alike.first)
            last, kind, at, ids, payloads, deadline = _decided(alike)
            put_off(self.INSERT_ALIKE, [owner, first, kind, at, ids, payloads])
            put_off(self.AWAIT_ALIKE, [owner, first, last, deadline])
        if changes.events:
            put_off(self.INSERT_EVENTS, _columns(_EVENTS, changes.events))
        if changes.waiting:
            put_off(self.INSERT_WAITING, _columns(_WAITING, changes.waiting))
        settled: dict[int, list[int]] = {}
        for learner_id, position in changes.settled:
            settled.setdefault(learner_id, []).append(position)
        for learner_id, positions in settled.items():
            put_off(self.SETTLE, [_bigint(learner_id), _numbers(positions)])
        for learner_id, head in changes.heads:
            put_off(self.SET_HEAD, [_bigint(learner_id), _bigint(head)])

    def _rows(self, statement: str, readers: "Sequence[Reader]", *parameters: bytes) -> Rows:
        result = self._driver.ask(statement, parameters)
        return [
            tuple(read(result.get_value(row, column)) for column, read in enumerate(readers))
            for row in range(result.ntuples)
        ]


# What comes back: each value as bytes, or None.


def _number(value: bytes | None) -> int | None:
    return None if value is None else int.from_bytes(value, signed=True)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _truth(value: bytes | None) -> bool:
    return value == b"\x01"


def _bytes(value: bytes | None) -> bytes | None:
    return value


Reader = Callable[[bytes | None], Any]

_LOCKED: list[Reader] = [_number, _text, _truth, _text]
_EVENT: list[Reader] = [_number, _text, _text, _number, _text, _number, _bytes]


# What is sent: a number, and arrays of one dimension. An array is a head, then each element after its length.

_bigint = Struct("!q").pack
_length = Struct("!i").pack
_head = Struct("!iiiii").pack  # dimensions, whether there are NULLs, type of the elements, how many, first index
_head_of_none = Struct("!iii").pack
_NULL = _length(-1)


def _array(kind: int, elements: Sequence[bytes | None]) -> bytes:
    if not elements:
        return _head_of_none(0, 0, kind)
    told = [_NULL if element is None else _length(len(element)) + element for element in elements]
    return _head(1, None in elements, kind, len(elements), 1) + b"".join(told)


def _numbers(values: Sequence[int | None]) -> bytes:
    if not values or None in values:
        return _array(BIGINT, [None if value is None else _bigint(value) for value in values])
    elements = pack("!" + "iq" * len(values), *chain.from_iterable(zip(repeat(8), values)))
    return _head(1, 0, BIGINT, len(values), 1) + elements


def _texts(values: Sequence[str | None]) -> bytes:
    return _array(TEXT, [None if value is None else value.encode() for value in values])


def _blobs(values: Sequence[bytes]) -> bytes:
    return _array(BYTEA, values)


Writer = Callable[[Any], bytes]

_EVENTS: list[Writer] = [_numbers, _numbers, _texts, _texts, _numbers, _texts, _numbers, _blobs]
_WAITING: list[Writer] = [_numbers, _numbers, _numbers]


def _columns(kinds: list[Writer], rows: Rows) -> list[bytes]:
    return [column(values) for column, values in zip(kinds, zip(*rows, strict=True), strict=True)]


def _decided(alike: Alike) -> list[bytes]:
    same = [_bigint(alike.last), alike.kind.encode(), _bigint(alike.at)]
    return [*same, _texts(alike.event_ids), _blobs(alike.payloads), _bigint(alike.deadline)]
