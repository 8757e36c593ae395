"""Transactions, and the difference between a database that is away and one that says no."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from holdfast.errors import Unavailable
from holdfast.store.bulk import Overtaken, driver_of
from holdfast.store.engine import is_gone
from holdfast.store.presence import Presence
from holdfast.store.waiting import apart

__all__ = ["Connection", "Database"]

# Of the statements that go to the driver itself; the others' are wrapped by SQLAlchemy.
TURN_WITHIN_S = 4.0
DRIVER_ERRORS = (sqlite3.Error, psycopg.Error)
UNFIT = (sqlite3.DataError, psycopg.DataError)  # what a database cannot keep, and others can: it is not away
BROKEN_RULES = (IntegrityError, sqlite3.IntegrityError, psycopg.IntegrityError)


class Database:
    """The only way from the other packages to a connection."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(writes=True)
        self._presence = Presence(self._answers)
        self._held: list[Connection] = []  # at most one
        self._is_closed = False
        # Of those who write to SQLite, which has one at a time.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; `Unavailable` if the database did not take it. Whether a lost commit happened is unknown.

        `Overtaken` if it was built on a belief that is wrong; then it did not happen.
        """
        with self._reaching():
            self._await_turn()
            try:
                connection = self._take()
                try:
                    driver = driver_of(connection)  # SQLAlchemy's way costs more than a small transaction
                    driver.begin_writing()
                    yield connection
                    driver.commit()
                except BaseException:
                    self._drop(connection)
                    raise
                self._keep(connection)
            finally:
                self._end_turn()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._reaching(), self._connect(self.engine) as connection:
            yield connection

    def tidy(self) -> None:
        """Let SQLite copy its log into the file, beside whoever writes; called now and then, on a thread of its own."""
        if self.engine.dialect.name == "sqlite":
            with suppress(SQLAlchemyError, sqlite3.Error), self.engine.connect() as connection:
                driver_of(connection).execute("PRAGMA wal_checkpoint(PASSIVE)")

    def answers(self) -> bool:
        """Whether the database can be read now."""
        try:
            self._presence.demand()
        except Unavailable:
            return False
        return self._answers()

    def close(self) -> None:
        """What is still in use, on a thread that nobody waits for, is closed when it is given back."""
        self._is_closed = True
        self._presence.close()
        for connection in self._held:
            connection.close()
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
            return apart(engine.connect)
        except DBAPIError:
            self._presence.lost()
            raise

    def _await_turn(self) -> None:
        """SQLite itself would make whoever comes second wait, and with it the thread."""
        if self._turn is None or self._turn.acquire(blocking=False):
            return
        if not apart(partial(self._turn.acquire, timeout=TURN_WITHIN_S)):
            raise Unavailable("the database is busy")

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.release()

    def _take(self) -> Connection:
        try:
            connection = self._held.pop()
        except IndexError:
            return self._connect(self._writing)
        if not is_gone(connection):
            return connection
        connection.invalidate()
        connection.close()
        return self._connect(self._writing)

    def _keep(self, connection: Connection) -> None:
        """It stays open from one transaction to the next: borrowing it costs more than using it."""
        if self._is_closed:
            connection.invalidate()
        if self._held or self._is_closed:
            connection.close()
        else:
            self._held.append(connection)

    def _drop(self, connection: Connection) -> None:
        """Something went wrong while it was used; perhaps the connection itself."""
        if not connection.invalidated and is_gone(connection):
            connection.invalidate()
            self._presence.lost()
        connection.close()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Not at all while the database is away; what goes wrong with it is `Unavailable`."""
        self._presence.demand()
        try:
            yield
        except BROKEN_RULES:
            raise  # an answer, not an absence: the caller broke a rule
        except (SQLAlchemyError, *DRIVER_ERRORS, OSError) as problem:
            cause = getattr(problem, "orig", problem)
            if isinstance(cause, psycopg.errors.DivisionByZero):  # only of LOCK_AS_BELIEVED
                raise Overtaken from problem
            if isinstance(cause, UNFIT):
                raise
            if isinstance(problem, DBAPIError) and problem.connection_invalidated:
                self._presence.lost()
            raise Unavailable(f"the database did not answer ({type(problem).__name__})") from problem
