"""Transactions, and the difference between a database that is away and one that says no."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from holdfast.errors import Unavailable
from holdfast.store.bulk import Overtaken, driver_of
from holdfast.store.engine import is_gone
from holdfast.store.presence import Presence
from holdfast.store.waiting import apart

__all__ = ["Connection", "Database"]

TURN_WITHIN_S = 4.0
# Those of the statements that go to the driver itself come as they are; the others' are wrapped by SQLAlchemy.
ERRORS = (SQLAlchemyError, sqlite3.Error, psycopg.Error, OSError)
UNFIT = (sqlite3.DataError, psycopg.DataError)  # what a database cannot keep, and others can: it is not away
BROKEN_RULES = (IntegrityError, sqlite3.IntegrityError, psycopg.IntegrityError)


class Database:
    """The only way from the other packages to a connection."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(writes=True)
        self._presence = Presence(self._answers)
        self._held: list[Held] = []  # at most one
        self._is_closed = False
        # Of those who write to SQLite, which has one at a time.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write to it meanwhile."""
        return self._turn is None

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction; `Unavailable` if the database did not take it. Whether a lost commit happened is unknown.

        `Overtaken` if it was built on a belief that is wrong; then it did not happen.
        """
        self._presence.demand()
        try:
            self._await_turn()
            try:
                connection, driver = held = self._take()
                try:
                    driver.begin_writing()  # SQLAlchemy's way costs more than a small transaction
                    yield connection
                    driver.commit()
                except BaseException:
                    self._drop(held)
                    raise
                self._keep(held)
            finally:
                self._end_turn()
        except ERRORS as problem:
            self._raise_as_told(problem)
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        self._presence.demand()
        try:
            with self._connect(self.engine) as connection:
                held = Held(connection, driver_of(connection))
                try:
                    yield connection
                except BaseException:
                    self._distrust(held)
                    raise
        except ERRORS as problem:
            self._raise_as_told(problem)
            raise

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
        for held in self._held:
            held.connection.close()
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

    def _take(self) -> "Held":
        try:
            held = self._held.pop()
        except IndexError:
            return self._new()
        if not is_gone(held.driver):
            return held
        held.connection.invalidate()
        held.connection.close()
        return self._new()

    def _new(self) -> "Held":
        connection = self._connect(self._writing)
        return Held(connection, driver_of(connection))

    def _keep(self, held: "Held") -> None:
        """It stays open from one transaction to the next: borrowing it costs more than using it."""
        if self._is_closed:
            held.connection.invalidate()
        if self._held or self._is_closed:
            held.connection.close()
        else:
            self._held.append(held)

    def _drop(self, held: "Held") -> None:
        self._distrust(held)
        held.connection.close()

    def _distrust(self, held: "Held") -> None:
        """Something went wrong while it was used; perhaps the connection itself."""
        if not held.connection.invalidated and is_gone(held.driver):
            held.connection.invalidate()
            self._presence.lost()

    def _raise_as_told(self, problem: Exception) -> None:
        """What goes wrong with a database that is away is `Unavailable`; a broken rule is an answer, not an absence."""
        cause = getattr(problem, "orig", problem)
        if isinstance(cause, psycopg.errors.DivisionByZero):  # only of LOCK_AS_BELIEVED, DECIDE_AS_BELIEVED
            raise Overtaken from problem
        if isinstance(problem, BROKEN_RULES) or isinstance(cause, UNFIT):
            return
        if isinstance(problem, DBAPIError) and problem.connection_invalidated:
            self._presence.lost()
        raise Unavailable(f"the database did not answer ({type(problem).__name__})") from problem


class Held(NamedTuple):
    """A connection, and the driver's own in it."""

    connection: Connection
    driver: Any
