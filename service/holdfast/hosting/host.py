"""The writer: one thread that owns the live learners, and commits what many requests ask for in one transaction.

Invariants
1. Only this thread touches a live learner. Whoever wants to read one submits an operation.
2. Compute, commit, answer: no answer leaves before the commit that holds its effect.
3. When a commit fails, the learners it touched are forgotten and revived from the log: memory never runs ahead of it.
4. Operations of one batch do not know each other: a refused one costs its neighbours nothing, a broken one runs alone.
5. Under the learner's row lock its copy is first brought up to the log's head, so any number of replicas agree.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from holdfast.errors import NotFound, Unavailable
from holdfast.hosting.aside import Aside
from holdfast.hosting.live import LiveLearner, snapshot_of
from holdfast.hosting.meter import Meter
from holdfast.hosting.operation import Operation, perform_alike
from holdfast.hosting.recover import Warn, catch_up, revive
from holdfast.hosting.settle import Settle
from holdfast.learners.modes import as_mode
from holdfast.store import idempotency, snapshots
from holdfast.store import learners as rows
from holdfast.store.database import Connection, Database
from holdfast.store.log import Transaction, overdue

QUEUE_MAX = 4_096
BATCH_MAX = 512
SNAPSHOT_EVERY = 10_000  # events
PACE_S = 0.002  # from one transaction to the next, while callers come together
SWEEP_EVERY_S = 0.5
SWEEP_FOR_S = 0.05  # while requests wait
SWEEP_LEARNERS_MAX = 100
FORGET_EVERY_S = 60.0


class Job(NamedTuple):
    """An operation and whoever waits for it: a thread, or a future of this event loop."""

    operation: Operation
    answer: "Future[Any] | asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop | None = None


def microseconds() -> int:
    return time.time_ns() // 1_000


class Host:
    """Start it, submit operations, stop it."""

    def __init__(self, database: Database, warn: Warn, clock: Callable[[], int] = microseconds) -> None:
        self._database = database
        self.meter = Meter()
        self._warn = self.meter.hearing(warn)
        self._clock = clock
        self._waiting: deque[Job] = deque()
        self._awake = threading.Condition()
        self._stopping = False
        self._live: dict[str, LiveLearner] = {}
        self._forget_from = 0.0
        self._aside = Aside(database, self.submit, self._warn)
        self._thread = threading.Thread(target=self._run, name="holdfast-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._aside.start()

    def lives(self) -> bool:
        """Whether the writer is there to answer."""
        return self._thread.is_alive()

    def queued(self) -> int:
        """How many operations wait for the writer."""
        return len(self._waiting)

    def live_learners(self) -> int:
        """How many learners are in memory."""
        return len(self._live)

    def stop(self, timeout_s: float) -> None:
        """Finish what is waiting, save what was learned, end the thread."""
        self._aside.stop()
        with self._awake:
            self._stopping = True
            self._awake.notify()
        self._thread.join(timeout_s)

    def submit(self, operation: Operation) -> "Future[Any]":
        """The answer, once it is durable; a HoldfastError if it was refused or could not be done."""
        answer: Future[Any] = Future()
        self.submit_all([Job(operation, answer)])
        return answer

    def submit_all(self, jobs: list[Job]) -> None:
        """Hand over what came in together, so that it can be committed together."""
        with self._awake:
            if self._stopping or len(self._waiting) + len(jobs) > QUEUE_MAX:
                raise Unavailable("the service is stopping or its queue is full")
            self._waiting.extend(jobs)
            self._awake.notify()

    def _run(self) -> None:
        next_sweep = time.monotonic()
        while True:
            with self._awake:
                if not self._waiting and not self._stopping:
                    self._awake.wait(SWEEP_EVERY_S)
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), BATCH_MAX))]
                done = self._stopping and not batch
            if batch:
                started = time.monotonic()
                self._serve(batch)
                if len(batch) > 1:  # then more will come: the event loop can read them in peace, for one commit
                    time.sleep(max(0.0, started + PACE_S - time.monotonic()))
            if time.monotonic() >= next_sweep and not done:
                there_is_more = self._sweep()
                next_sweep = time.monotonic() + (0.0 if there_is_more else SWEEP_EVERY_S)
            if done:
                self._save_all()
                return

    def _serve(self, batch: list[Job]) -> None:
        """One transaction for all; the answers go out after its commit."""
        started = time.perf_counter()
        try:
            with self._database.write() as connection:
                transaction = Transaction(connection)
                answers = self._perform(batch, transaction)
                transaction.flush()
                self._save_if_due(connection, batch)
        except Exception as problem:
            self.meter.failed()
            self._forget(batch)
            self._recover_from(batch, problem)
            return
        self.meter.committed(len(batch), time.perf_counter() - started)
        _publish(batch, answers)
        self._offer_aside(batch)

    def _offer_aside(self, batch: list[Job]) -> None:
        """Whatever takes long for these learners is done on another thread, once their callers have their answers."""
        for name in {job.operation.learner for job in batch} & set(self._live):
            self._aside.offer(self._live[name])

    def _recover_from(self, batch: list[Job], problem: Exception) -> None:
        """The database is away: say so to all. Something else: find the one that broke by running each alone."""
        if isinstance(problem, Unavailable):
            self._warn("commit failed", operations=len(batch), reason=str(problem))
            _publish(batch, [problem] * len(batch))
        elif len(batch) == 1:
            self._warn("operation failed", reason=repr(problem))
            _publish(batch, [problem])
        else:
            for job in batch:
                self._serve([job])

    def _perform(self, batch: list[Job], transaction: Transaction) -> list[Any]:
        """The answers in the order of the batch; learners are locked in the order of their ids."""
        by_name: dict[str, list[int]] = {}
        for index, job in enumerate(batch):
            by_name.setdefault(job.operation.learner, []).append(index)
        answers: list[Any] = [NotFound("learner", "no such learner")] * len(batch)
        known = [live for name in by_name if (live := self._known(transaction.connection, name)) is not None]
        now = self._clock()
        for candidate in sorted(known, key=lambda live: live.id):
            live = self._lock(candidate, transaction)
            if live is not None:
                self.meter.begun(live)
                indexes = by_name[live.name]
                done = _perform_all([batch[index].operation for index in indexes], live, transaction, now)
                for index, answer in zip(indexes, done, strict=True):
                    answers[index] = answer
        return answers

    def _known(self, connection: Connection, name: str) -> LiveLearner | None:
        """The copy of this learner, made if there is none."""
        live = self._live.get(name)
        return live if live is not None else self._revived(connection, name)

    def _revived(self, connection: Connection, name: str) -> LiveLearner | None:
        """A new copy from the log; None if there is no such learner."""
        self._live.pop(name, None)
        row = rows.find(connection, name)
        if row is not None:
            self._live[name] = revive(connection, row, self._warn)
        return self._live.get(name)

    def _lock(self, live: LiveLearner, transaction: Transaction) -> LiveLearner | None:
        """Take the learner's row and bring the copy up to the log's head; None if the learner is gone.

        A copy of one that was deleted, or that ran ahead of the log, is not it: there may be a new one of that name.
        """
        row = transaction.lock(live.id)
        if row is None or live.position > row.head:
            renewed = self._revived(transaction.connection, live.name)
            row = None if renewed is None else transaction.lock(renewed.id)
            if renewed is None or row is None:
                return None
            live = renewed
        live.mode, live.paused = as_mode(row.mode), bool(row.paused)
        if row.spec != live.spec:  # the wait or the default was changed
            live.redraw(row.spec)
        if row.head > live.position:
            catch_up(transaction.connection, live)
        return live

    def _forget(self, batch: list[Job]) -> None:
        for job in batch:
            self._live.pop(job.operation.learner, None)

    def _save_if_due(self, connection: Connection, batch: list[Job]) -> None:
        for name in {job.operation.learner for job in batch} & set(self._live):
            live = self._live[name]
            if live.position - live.snapshot_position >= SNAPSHOT_EVERY:
                self._save(connection, live)

    def _save(self, connection: Connection, live: LiveLearner) -> None:
        """A snapshot only saves time: one that the database does not take is tried again when as much is new."""
        snapshot = snapshot_of(live)
        if snapshots.save_if_it_fits(connection, live.id, snapshot, self._clock()):
            self.meter.saved(len(snapshot.state))
        else:
            self._warn("snapshot not saved", learner=live.name, bytes=len(snapshot.state))
        live.snapshot_position = live.position

    def _save_all(self) -> None:
        try:
            with self._database.write() as connection:
                transaction = Transaction(connection)
                for live in sorted(self._live.values(), key=lambda live: live.id):
                    if live.position > live.snapshot_position and transaction.lock(live.id) is not None:
                        self._save(connection, live)
        except Unavailable as problem:
            self._warn("snapshots not saved on stopping", reason=str(problem))

    def _settle(self, name: str) -> bool:
        """Settle what of a learner has waited long enough; whether there may be more."""
        answer: Future[Any] = Future()
        self._serve([Job(Settle(name), answer)])
        return answer.exception() is None and bool(answer.result())

    def _forget_answers(self) -> None:
        """Those that nobody will ask for: all of them in a while, some now."""
        if time.monotonic() < self._forget_from:
            return
        with self._database.write() as connection:
            forgotten = idempotency.forget(connection, self._clock())
        if forgotten < idempotency.FORGOTTEN_AT_ONCE_MAX:
            self._forget_from = time.monotonic() + FORGET_EVERY_S

    def _sweep(self) -> bool:
        """Settle decisions whose wait has ended, forget answers nobody will ask for; whether there is more to do."""
        self.meter.sweeps += 1
        try:
            self._forget_answers()
            with self._database.read() as connection:
                names = overdue(connection, self._clock(), SWEEP_LEARNERS_MAX)
        except Unavailable:
            return False
        until = time.monotonic() + SWEEP_FOR_S
        for name in names:
            while self._settle(name):
                if (self._waiting or self._stopping) and time.monotonic() >= until:
                    return True
        return False


def _publish(batch: list[Job], answers: list[Any]) -> None:
    """Give everyone their answer; an event loop is woken once for all of its own."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[tuple[Job, Any]]] = {}
    for job, answer in zip(batch, answers, strict=True):
        by_loop.setdefault(job.loop, []).append((job, answer))
    for loop, settled in by_loop.items():
        if loop is None:
            _settle(settled)
        else:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, settled)


def _settle(settled: list[tuple[Job, Any]]) -> None:
    for job, answer in settled:
        if job.answer.done():  # gave up waiting
            continue
        if isinstance(answer, Exception):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)


def _perform_all(operations: list[Operation], live: LiveLearner, transaction: Transaction, now: int) -> list[Any]:
    """Look up what all of them need, then perform them in order, neighbours of one kind together."""
    needs = [operation.needs(live) for operation in operations]
    transaction.look_up(live.id, [name for need in needs for name in (*need.events, *need.said)])
    told = [transaction.find(live.id, name) for need in needs for name in need.said]
    transaction.hear(live.id, [found.event.position for found in told if found is not None])
    transaction.recall_all([name for need in needs for name in need.answers])
    answers: list[Any] = []
    for _, alike in groupby(operations, key=type):
        neighbours = list(alike)
        answers += perform_alike(neighbours, live, transaction, now)
    live.open.trim()
    return answers
