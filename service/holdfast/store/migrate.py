"""Bring a database to the newest schema; `serve`, `migrate` and the tests all come through here."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Engine, text

from holdfast.errors import InvalidConfiguration

_PACKAGED = Path(__file__).parent.parent / "migrations"
_CHECKED_OUT = Path(__file__).parents[3] / "migrations"
ADVISORY_LOCK = 0x686F6C64  # "hold": two replicas that start together migrate one after the other


def migrate(engine: Engine) -> None:
    """Run what is missing, in one transaction."""
    with _transactional(engine).begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        configuration = _configuration()
        configuration.attributes["connection"] = connection
        try:
            command.upgrade(configuration, "head")
        except CommandError as problem:
            raise InvalidConfiguration(
                f"this version of Holdfast cannot serve this database; a newer one has upgraded it ({problem})"
            ) from None


def _transactional(engine: Engine) -> Engine:
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="READ COMMITTED")
    return engine.execution_options(writes=True)


def is_current(engine: Engine) -> bool:
    """Whether the database has the newest schema."""
    newest = ScriptDirectory.from_config(_configuration()).get_current_head()
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == newest


def _configuration() -> Config:
    configuration = Config()
    configuration.set_main_option("script_location", str(_PACKAGED if _PACKAGED.exists() else _CHECKED_OUT))
    return configuration
