"""Transactions, and the difference between a database that is away and one that says no."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from holdfast.errors import Unavailable

__all__ = ["Connection", "Database"]


class Database:
    """The only way from the other packages to a connection."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(writes=True)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; `Unavailable` if the database did not take it. Whether a lost commit happened is unknown."""
        with _saying_unavailable(), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with _saying_unavailable(), self.engine.connect() as connection:
            yield connection

    def answers(self) -> bool:
        """Whether the database can be read now."""
        try:
            with self.read() as connection:
                connection.execute(text("SELECT 1"))
        except Unavailable:
            return False
        return True

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _saying_unavailable() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise  # an answer, not an absence: the caller broke a rule
    except (DBAPIError, SQLAlchemyError, OSError) as problem:
        raise Unavailable(f"the database did not answer ({type(problem).__name__})") from problem
