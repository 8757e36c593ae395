"""Which words a connection's database is spoken to in."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from holdfast.store.bulk import Bulk, driver_of
from holdfast.store.postgresql import PostgreSQL
from holdfast.store.sqlite import SQLite

_BULK: dict[str, Callable[[Any], Bulk]] = {"sqlite": SQLite, "postgresql": PostgreSQL}


def bulk_of(connection: Connection) -> Bulk:
    return _BULK[connection.dialect.name](driver_of(connection))
