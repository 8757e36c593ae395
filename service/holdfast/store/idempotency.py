"""The first answer to a keyed request, kept in the same transaction as its effect and forgotten after a day."""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from holdfast.store.tables import idempotency

KEPT_S = 24 * 3600
FORGOTTEN_AT_ONCE_MAX = 1_000


class FirstAnswer(NamedTuple):
    """What was asked, as a digest, and what was answered."""

    request_digest: bytes
    status: int
    answer: bytes


def recall(connection: Connection, scope: str, key: str) -> FirstAnswer | None:
    columns = (idempotency.c.request_digest, idempotency.c.status, idempotency.c.answer)
    row = connection.execute(select(*columns).where(idempotency.c.scope == scope, idempotency.c.key == key)).first()
    return None if row is None else FirstAnswer(*row)


def remember(connection: Connection, scope: str, key: str, first: FirstAnswer, now: int) -> None:
    connection.execute(insert(idempotency).values(scope=scope, key=key, at=now, **first._asdict()))


def forget(connection: Connection, now: int) -> int:
    """Drop what is older than a day, a bounded number at a time; how many were dropped."""
    oldest = (
        select(idempotency.c.scope, idempotency.c.key)
        .where(idempotency.c.at < now - KEPT_S * 1_000_000)
        .limit(FORGOTTEN_AT_ONCE_MAX)
    )
    rows = connection.execute(oldest).all()
    for scope, key in rows:
        connection.execute(delete(idempotency).where(idempotency.c.scope == scope, idempotency.c.key == key))
    return len(rows)
