"""The first answer to a keyed request, kept in the same transaction as its effect and forgotten after a day."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from holdfast.store.tables import idempotency

KEPT_S = 24 * 3600
FORGOTTEN_AT_ONCE_MAX = 1_000
RECALLED_AT_ONCE_MAX = 250
CREATING = 0x686F6C64_66617374  # the number of a lock, "holdfast" in ASCII

_c = idempotency.c
# One scope at a time: SQLite looks for pairs of names in every row there is.
_RECALL = select(_c.key, _c.request_digest, _c.status, _c.answer).where(
    _c.scope == bindparam("scope"), _c.key.in_(bindparam("keys", expanding=True))
)


class FirstAnswer(NamedTuple):
    """What was asked, as a digest, and what was answered."""

    request_digest: bytes
    status: int
    answer: bytes


def one_at_a_time(connection: Connection) -> None:
    """Until the transaction ends, of those who ask for this; on SQLite whoever writes is alone already."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(CREATING)))


def recall_all(connection: Connection, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], FirstAnswer]:
    """The first answers to the requests of these scopes and keys, where there is one."""
    found: dict[tuple[str, str], FirstAnswer] = {}
    by_scope: dict[str, list[str]] = {}
    for scope, key in names:
        by_scope.setdefault(scope, []).append(key)
    for scope, keys in by_scope.items():
        for start in range(0, len(keys), RECALLED_AT_ONCE_MAX):
            wanted = {"scope": scope, "keys": keys[start : start + RECALLED_AT_ONCE_MAX]}
            found |= {(scope, key): FirstAnswer(*answer) for key, *answer in connection.execute(_RECALL, wanted)}
    return found


def remember_all(connection: Connection, answers: Mapping[tuple[str, str], FirstAnswer], now: int) -> None:
    rows = [{"scope": scope, "key": key, "at": now, **a._asdict()} for (scope, key), a in answers.items()]
    connection.execute(insert(idempotency), rows)


def forget(connection: Connection, now: int) -> int:
    """Drop what is older than a day, a bounded number at a time; how many were dropped."""
    old = _c.at < now - KEPT_S * 1_000_000
    last_of_them = select(_c.at).where(old).order_by(_c.at).offset(FORGOTTEN_AT_ONCE_MAX - 1).limit(1)
    last = connection.execute(last_of_them).scalar()
    return connection.execute(delete(idempotency).where(old if last is None else _c.at <= last)).rowcount
