"""Transactions, and the difference between a database that is away and one that says no."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from holdfast.errors import Unavailable
from holdfast.store.presence import Presence

__all__ = ["Connection", "Database"]


class Database:
    """The only way from the other packages to a connection."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(writes=True)
        self._presence = Presence(self._answers)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; `Unavailable` if the database did not take it. Whether a lost commit happened is unknown."""
        with self._reaching(), self._connect(self._writing) as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._reaching(), self._connect(self.engine) as connection:
            yield connection

    def answers(self) -> bool:
        """Whether the database can be read now."""
        try:
            self._presence.demand()
        except Unavailable:
            return False
        return self._answers()

    def close(self) -> None:
        self._presence.close()
        self.engine.dispose()

    def _answers(self) -> bool:
        try:
            with self.engine.connect() as connection:
                connection.execute(text("SELECT 1"))
        except (SQLAlchemyError, OSError):
            return False
        return True

    def _connect(self, engine: Engine) -> Connection:
        try:
            return engine.connect()
        except DBAPIError:
            self._presence.lost()
            raise

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Not at all while the database is away; what goes wrong with it is `Unavailable`."""
        self._presence.demand()
        try:
            yield
        except IntegrityError:
            raise  # an answer, not an absence: the caller broke a rule
        except (SQLAlchemyError, OSError) as problem:
            if isinstance(problem, DBAPIError) and problem.connection_invalidated:
                self._presence.lost()
            raise Unavailable(f"the database did not answer ({type(problem).__name__})") from problem
