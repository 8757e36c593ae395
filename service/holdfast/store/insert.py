"""An INSERT that does nothing where there is such a row already, in each database's words."""

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_if_new(connection: Connection, table: Table, row: dict[str, Any]) -> bool:
    """Whether it was new; of two who say the same at the same moment, one is told so."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(row).on_conflict_do_nothing().returning(*table.primary_key.columns)
    return connection.execute(statement).first() is not None
