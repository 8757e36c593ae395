"""The first answer to a keyed request, kept in the same transaction as its effect and forgotten after a day."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, select, tuple_

from holdfast.store.tables import idempotency

KEPT_S = 24 * 3600
FORGOTTEN_AT_ONCE_MAX = 1_000
RECALLED_AT_ONCE_MAX = 250

_c = idempotency.c
_RECALL = select(_c.scope, _c.key, _c.request_digest, _c.status, _c.answer).where(
    tuple_(_c.scope, _c.key).in_(bindparam("names", expanding=True))
)


class FirstAnswer(NamedTuple):
    """What was asked, as a digest, and what was answered."""

    request_digest: bytes
    status: int
    answer: bytes


def recall_all(connection: Connection, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], FirstAnswer]:
    """The first answers to the requests of these scopes and keys, where there is one."""
    found: dict[tuple[str, str], FirstAnswer] = {}
    for start in range(0, len(names), RECALLED_AT_ONCE_MAX):
        wanted = names[start : start + RECALLED_AT_ONCE_MAX]
        for scope, key, *answer in connection.execute(_RECALL, {"names": wanted}):
            found[scope, key] = FirstAnswer(*answer)
    return found


def remember_all(connection: Connection, answers: Mapping[tuple[str, str], FirstAnswer], now: int) -> None:
    rows = [{"scope": scope, "key": key, "at": now, **a._asdict()} for (scope, key), a in answers.items()]
    connection.execute(insert(idempotency), rows)


def forget(connection: Connection, now: int) -> int:
    """Drop what is older than a day, a bounded number at a time; how many were dropped."""
    oldest = (
        select(idempotency.c.scope, idempotency.c.key)
        .where(idempotency.c.at < now - KEPT_S * 1_000_000)
        .limit(FORGOTTEN_AT_ONCE_MAX)
    )
    return connection.execute(delete(idempotency).where(tuple_(_c.scope, _c.key).in_(oldest))).rowcount
