"""Who did what to learners and keys: a row in the transaction of the act, so neither is there without the other."""

import json
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from holdfast.store.tables import audit

NEWEST = 2**63 - 1  # no row has a larger number


class Actor(NamedTuple):
    """Whoever acts: a key, or someone on this machine, who has none."""

    name: str
    key_id: str | None = None
    learner: str | None = None  # the only one it may see


COMMAND_LINE = Actor("command line")
LOCAL = Actor("local")  # over HTTP, with authentication off


class Entry(NamedTuple):
    """One act."""

    id: int
    at: int
    actor: str
    key_id: str | None
    act: str
    target: str
    detail: str


_COLUMNS = tuple(audit.c[name] for name in Entry._fields)


def note(connection: Connection, by: Actor, act: str, target: str, now: int, **detail: Any) -> None:
    """Keep that it was done, in the transaction that does it."""
    text = json.dumps(detail, sort_keys=True, ensure_ascii=False)
    connection.execute(
        insert(audit).values(at=now, actor=by.name, key_id=by.key_id, act=act, target=target, detail=text)
    )


def page(connection: Connection, before: int, limit: int) -> list[Entry]:
    """The acts before one, the newest first."""
    query = select(*_COLUMNS).where(audit.c.id < before).order_by(audit.c.id.desc()).limit(limit)
    return [Entry(*row) for row in connection.execute(query)]
