"""Connections: SQLite in one process with full durability, or PostgreSQL with deadlines on everything."""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError

from holdfast.errors import InvalidConfiguration, StoreInUse
from holdfast.store.bulk import driver_of
from holdfast.store.deadline import ImpatientConnection
from holdfast.store.waiting import apart

STATEMENT_TIMEOUT_MS = 4_000  # the server's own: shorter than the silence after which it is hung up on
LOCK_TIMEOUT_MS = 3_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
CONNECT_TIMEOUT_S = 2
# The connection that was used last is the one whose caches are warm; wait so long for one at most. An error that is
# logged must not repeat what was sent.
ENGINE: dict[str, Any] = {"pool_use_lifo": True, "pool_timeout": 5, "hide_parameters": True}
TCP_LIMITS = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 5_000}
SQLITE_BUSY_TIMEOUT_MS = 4_000
SQLITE_CACHE_KIB = 16_384  # the system keeps the file's pages too
SQLITE_STATEMENTS_KEPT = 512
SQLITE_COMMIT_IS_SLOW_S = 0.002
# Copying the write-ahead log into the file takes long, so `Database.tidy` does it beside the commits; only the one that
# makes the log this long, 64 MiB, does it itself: only then can the log begin anew while others come without end.
SQLITE_LOG_PAGES_MAX = 16_000


class SQLiteConnection(sqlite3.Connection):
    """Neither a slow disk nor another process that writes keeps the thread of an event loop."""

    _commit_s = 0.0  # lately
    _waits_for_others = True
    _put_off: Callable[[], None] | None = None

    def begin_writing(self) -> None:
        if self._waits_for_others:
            self._wait_for_others(False)
        try:
            self.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as problem:
            self._wait_for_others(True)
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            apart(partial(self.execute, "BEGIN IMMEDIATE"))

    def _wait_for_others(self, waits: bool) -> None:
        self.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_TIMEOUT_MS if waits else 0}")
        self._waits_for_others = waits

    def put_off(self, work: Callable[[], None]) -> None:
        """Do this with the commit. It takes long, so that is done apart."""
        self._put_off = work

    def rollback(self) -> None:
        self._put_off = None
        super().rollback()
        if not self._waits_for_others:  # the next to use it may only read
            self._wait_for_others(True)

    def commit(self) -> None:
        """What fails for want of room may have ended the whole transaction, and then there is nothing to commit."""
        if not self.in_transaction:
            raise sqlite3.OperationalError("the transaction had ended before")
        if self._put_off is not None:
            apart(self._finish)
            return
        started = perf_counter()
        if self._commit_s > SQLITE_COMMIT_IS_SLOW_S:
            apart(super().commit)
        else:
            super().commit()
        self._commit_s += (perf_counter() - started - self._commit_s) / 8

    def _finish(self) -> None:
        work, self._put_off = self._put_off, None
        if work is not None:
            work()
        super().commit()


def parse_url(text: str) -> URL:
    """`sqlite:///file` or `postgresql://…`, with the driver Holdfast uses."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise InvalidConfiguration("the database URL cannot be read") from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InvalidConfiguration("the SQLite URL must name a file: sqlite:///holdfast.db")
        if url.query:
            raise InvalidConfiguration("the SQLite URL takes no parameters")
        return url.set(drivername="sqlite+pysqlite")
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise InvalidConfiguration("the database URL must start with sqlite:// or postgresql://")


def is_missing(url: URL) -> bool:
    """Whether connecting would make a new SQLite file."""
    return url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists()


def connect(url: URL) -> Engine:
    """An engine whose transactions are as durable as the database can make them."""
    return _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)


def _sqlite(url: URL) -> Engine:
    Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    how = {"check_same_thread": False, "cached_statements": SQLITE_STATEMENTS_KEPT, "factory": SQLiteConnection}
    engine = create_engine(url, connect_args=how, **ENGINE)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # BEGIN is ours, below
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"wal_autocheckpoint={SQLITE_LOG_PAGES_MAX}",
            "foreign_keys=ON",
            f"busy_timeout={SQLITE_BUSY_TIMEOUT_MS}",
            f"cache_size=-{SQLITE_CACHE_KIB}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        driver = driver_of(connection)
        if driver.in_transaction:  # of `Database.write`
            return
        writes = connection.get_execution_options().get("writes", False)
        driver.begin_writing() if writes else driver.execute("BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    limits = {
        "statement_timeout": STATEMENT_TIMEOUT_MS,
        "lock_timeout": LOCK_TIMEOUT_MS,
        "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_TIMEOUT_MS,
        "synchronous_commit": "on",
        "default_transaction_isolation": r"read\ committed",  # of a statement that is a transaction by itself
        "enable_seqscan": "off",  # a plan that was made for an empty table is still used when it is large
    }
    options = " ".join(f"-c {name}={value}" for name, value in limits.items())
    # If psycopg prepared statements it would drop them all after a rollback, those of `ask` too.
    connect_args = {"options": options, "connect_timeout": CONNECT_TIMEOUT_S, "prepare_threshold": None, **TCP_LIMITS}
    # Who reads needs no transaction around it, and `Database.write` begins its own.
    engine = create_engine(url, connect_args=connect_args, isolation_level="AUTOCOMMIT", **ENGINE)

    @event.listens_for(engine, "do_connect")
    def dial(dialect: Any, record: Any, arguments: Any, parameters: Any) -> Any:
        return ImpatientConnection.connect(*arguments, **parameters)

    @event.listens_for(engine, "checkout")
    def check(connection: Any, record: Any, proxy: Any) -> None:
        if connection.is_hung_up():
            raise DisconnectionError  # the pool tries another

    return engine


def is_gone(driver: Any) -> bool:
    """Whether either end has closed this connection."""
    return isinstance(driver, ImpatientConnection) and (driver.closed or driver.is_hung_up())


class SingleProcess:
    """The promise that nobody else writes this SQLite file, kept by a lock that dies with the process."""

    def __init__(self, url: URL) -> None:
        path = Path(f"{url.database}.lock")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            name = Path(str(url.database)).name
            raise StoreInUse(
                f"another holdfast serves {name} already; SQLite takes one process, PostgreSQL many"
            ) from None

    def release(self) -> None:
        self._file.close()


@contextmanager
def alone(url: URL) -> Iterator[None]:
    """While a SQLite file is this process's; PostgreSQL takes many processes and needs no such lock."""
    lock = SingleProcess(url) if url.get_backend_name() == "sqlite" else None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
