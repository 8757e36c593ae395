"""A PostgreSQL that falls silent is hung up on: its own timeouts do not help when it does not run."""

import select
from collections.abc import Generator, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import Ready, Wait

from holdfast.store.waiting import happens

SILENCE_MAX_S = 5.0  # longer than the server's own statement timeout
_HUNG_UP = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
_DONE = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"

Answer = TypeVar("Answer")


class Silence(psycopg.OperationalError):
    """The server did not answer in time."""


class Command(NamedTuple):
    """A statement to be prepared and executed, with its parameters in the binary format."""

    statement: str
    parameters: Sequence[bytes] = ()


class ImpatientConnection(psycopg.Connection[Any]):
    """Closes its socket, on the thread that waits, when the server says nothing for too long.

    Every round trip of psycopg comes through `wait`, and those that carry the traffic through `ask`: psycopg's way
    stops at every step, which lets other threads in, and they stay for a while. What nobody waits for is put off and
    travels with the next question. Whether a commit that was cut off has happened is for the caller to find out.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._put_off: list[Command] = []
        self._whole: Command | None = None  # a transaction in one statement, which goes with the commit
        self._named: dict[str, bytes] = {}  # the prepared statements
        self._numbers = count()  # a name is not used again: one that failed may be known to the server

    def begin_writing(self) -> None:
        self.put_off(BEGIN)

    def commit(self) -> None:
        """A transaction in which something failed is rolled back by COMMIT, and that is no commit."""
        if self._whole is not None:
            whole, self._whole = self._whole, None
            self._round_trip([whole])
            return
        if not self._put_off and self.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        if self.ask("COMMIT").command_status != b"COMMIT":
            raise psycopg.OperationalError("the transaction had failed before")

    def rollback(self) -> None:
        self._put_off.clear()
        self._whole = None
        super().rollback()

    def put_off(self, statement: str, parameters: Sequence[bytes] = ()) -> None:
        self._put_off.append(Command(statement, parameters))

    def unsaid(self) -> Sequence[Command]:
        """What was put off and the server does not know of yet."""
        return tuple(self._put_off)

    def do_at_once(self, statement: str, parameters: Sequence[bytes]) -> None:
        """Instead of all that was put off, BEGIN and COMMIT too, this: a statement alone is a transaction. Only the
        commit may come after it.
        """
        self._put_off, self._whole = [], Command(statement, parameters)

    def ask(self, statement: str, parameters: Sequence[bytes] = ()) -> PGresult:
        """The answer, in the binary format; everything put off is done before, in the same round trip."""
        self._check_incomplete()
        commands, self._put_off = [*self._put_off, Command(statement, parameters)], []
        return self._round_trip(commands)[-1]

    def wait(self, gen: Generator[Any, Any, Answer], interval: float = 0.0, timeout: float | None = None) -> Answer:
        self._check_incomplete()
        if self._put_off:
            commands, self._put_off = self._put_off, []
            self._round_trip(commands)
        try:
            wanted = next(gen)
            while True:
                wanted = gen.send(self._ready(wanted))
        except StopIteration as done:
            answer: Answer = done.value
            return answer

    def is_hung_up(self) -> bool:
        """Whether the server has closed its end; a system call, where a ping would be a round trip."""
        return bool(happens(self.pgconn.socket, _HUNG_UP, 0.0))

    def _check_incomplete(self) -> None:
        if self._whole is not None:
            raise psycopg.ProgrammingError("the transaction is complete, and only its commit may follow")

    def _round_trip(self, commands: list[Command]) -> list[PGresult]:
        if self.closed:
            raise psycopg.OperationalError("the connection is closed")
        self.pgconn.enter_pipeline_mode()
        named = self._send(commands)
        results = self._answers()
        self.pgconn.exit_pipeline_mode()
        for result in results:
            if result.status not in _DONE:
                raise psycopg.errors.error_from_result(result)
        self._named |= named
        return results

    def _send(self, commands: list[Command]) -> dict[str, bytes]:
        """Put everything into libpq's buffer; the statements that were not prepared before, and their names."""
        named: dict[str, bytes] = {}
        for statement, parameters in commands:
            name = self._named.get(statement)
            if name is None:
                name = named[statement] = f"holdfast_{next(self._numbers)}".encode()
                self.pgconn.send_prepare(name, statement.encode())
            formats = [Format.BINARY] * len(parameters)
            self.pgconn.send_query_prepared(name, parameters, formats, Format.BINARY)
        self.pgconn.pipeline_sync()
        return named

    def _answers(self) -> list[PGresult]:
        """One for each command, once all are there; what goes wrong after the last, as with its commit, is one more."""
        pgconn = self.pgconn
        results: list[PGresult] = []
        while True:
            if pgconn.is_busy():
                self._await_answer()
            result = pgconn.get_result()
            if result is None:  # nothing more of this command
                if pgconn.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the server has closed the connection")
            elif result.status == ExecStatus.PIPELINE_SYNC:
                return results
            else:
                results.append(result)

    def _await_answer(self) -> None:
        unsent = self.pgconn.flush()
        while self.pgconn.is_busy():
            self._await(select.POLLIN | (select.POLLOUT if unsent else 0))
            self.pgconn.consume_input()
            unsent = self.pgconn.flush()

    def _ready(self, wanted: Wait) -> Ready:
        """What psycopg waits for, in its own terms."""
        reads, writes = (select.POLLIN if wanted & Wait.R else 0), (select.POLLOUT if wanted & Wait.W else 0)
        happened = self._await(reads | writes)
        is_broken = bool(happened & _HUNG_UP)  # which reading and writing find out
        readable = Ready.R if happened & reads or (reads and is_broken) else 0
        writable = Ready.W if happened & writes or (writes and is_broken) else 0
        return Ready(readable | writable)

    def _await(self, events: int) -> int:
        happened = happens(self.pgconn.socket, events, SILENCE_MAX_S)
        if not happened:
            self.pgconn.finish()
            raise Silence("the server did not answer in time")
        return happened
