"""The writer: it owns the live learners, and commits what many requests ask for in one transaction.

It runs on the thread of the event loop that reads the requests (`store/waiting.py` says why and how), one batch after
the other. What takes long it has done on another thread, and waits for that as it waits for the database.

Invariants
1. Only the writer touches a live learner. Whoever wants to read one submits an operation.
2. Compute, commit, answer: no answer leaves before the commit that holds its effect.
3. When a commit fails, the learners it touched are forgotten and revived from the log: memory never runs ahead of it.
4. Operations of one batch do not know each other: a refused one costs its neighbours nothing, a broken one runs alone.
   What only the sweep asks for is no neighbour of a request: it has a transaction of its own, after it.
5. Under the learner's row lock its copy is first brought up to the log's head, so any number of replicas agree.
6. Where nobody else has written to a learner lately, its copy is believed to be at the head. The commit fails if it is
   not; then the copy is forgotten and everything done again, with a look first.
"""

import asyncio
import threading
import time
from bisect import insort
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from holdfast.errors import NotFound, Unavailable
from holdfast.hosting.aside import Aside
from holdfast.hosting.live import GapInLog, LiveLearner
from holdfast.hosting.mailbox import Job, Mailbox
from holdfast.hosting.meter import Meter
from holdfast.hosting.operation import Needs, Operation, perform_alike
from holdfast.hosting.recover import Warn, catch_up, discard_ahead, revive
from holdfast.hosting.saving import Saving
from holdfast.hosting.settle import Settle
from holdfast.hosting.sweep import Sweep
from holdfast.learners.modes import as_mode
from holdfast.store import learners as rows
from holdfast.store.bulk import Locked, Overtaken
from holdfast.store.database import Connection, Database
from holdfast.store.log import Transaction
from holdfast.store.waiting import apart, give_way, on_loop, turns

TURN_S = 0.01  # what takes longer is not done on the event loop's thread
CAUGHT_UP_AT_ONCE = 500  # events, likewise
LOOK_FIRST_S = 2.0  # at a learner that was just revived or changed, before it is believed to be as we know it
SHARED_S = 600.0  # and at one that another process has written to
IDLE_S = 600.0  # after so long without a request a learner leaves memory

_id = attrgetter("id")


def microseconds() -> int:
    return time.time_ns() // 1_000


class Host:
    """Start it, submit operations, stop it."""

    def __init__(self, database: Database, warn: Warn, clock: Callable[[], int] = microseconds) -> None:
        self._database = database
        self.meter = Meter()
        self._warn = self.meter.hearing(warn)
        self._clock = clock
        self._mailbox = Mailbox()
        self._live: OrderedDict[str, LiveLearner] = OrderedDict()  # first those that were asked longest ago
        self._looked_at_until: dict[str, float] = {}
        self._saving = Saving(database, clock, self.meter, self._warn)
        self._aside = Aside(database, self._saving, self.submit, self._warn)
        self._sweep = Sweep(database, self._submit_first, clock, self.meter, self._warn)
        self._ended = threading.Event()

    def start(self) -> None:
        """On the running event loop; where there is none, on a thread with one of its own."""
        try:
            self._task = asyncio.get_running_loop().create_task(self._run())
        except RuntimeError:
            threading.Thread(target=asyncio.run, args=(self._run(),), name="holdfast-writer", daemon=True).start()
        self._aside.start()
        self._sweep.start()

    def lives(self) -> bool:
        """Whether the writer is there to answer."""
        return not self._ended.is_set()

    def queued(self) -> int:
        """How many operations wait for the writer."""
        return len(self._mailbox)

    def live_learners(self) -> int:
        """How many learners are in memory."""
        return len(self._live)

    def stop(self, timeout_s: float) -> None:
        """Finish what is waiting, save what was learned; asked for on another thread than the writer's."""
        until = time.monotonic() + timeout_s
        self._aside.stop()
        self._sweep.stop()
        self._mailbox.close()
        self._ended.wait(timeout_s)
        self._sweep.join(max(0.0, until - time.monotonic()))

    def submit(self, operation: Operation) -> "Future[Any]":
        """The answer, once it is durable; a HoldfastError if it was refused or could not be done."""
        answer: Future[Any] = Future()
        self.submit_all([Job(operation, answer)])
        return answer

    def submit_all(self, jobs: list[Job]) -> None:
        """Hand over what came in together, so that it can be committed together."""
        self._mailbox.put(jobs)

    def _submit_first(self, operation: Operation) -> "Future[Any]":
        """With every transaction one of these: where callers come without end, it is done all the same."""
        answer: Future[Any] = Future()
        self._mailbox.put_first(Job(operation, answer))
        return answer

    def confirms(self, learner: str, spec: str, within_s: float) -> bool:
        """Whether the writer has worked with this learner, as it is described here, so lately; asked on its thread."""
        live = self._live.get(learner)
        return live is not None and live.spec == spec and time.monotonic() - live.asked_at < within_s

    def look_first(self, learner: str) -> None:
        """Somebody may have changed it: for a moment, believe nothing of it."""
        self._look_first_for(LOOK_FIRST_S, learner)

    def _look_first_for(self, seconds: float, learner: str) -> None:
        until = time.monotonic() + seconds
        self._looked_at_until[learner] = max(until, self._looked_at_until.get(learner, 0.0))

    async def _run(self) -> None:
        try:
            await on_loop(self._work)
        finally:
            self._ended.set()

    def _work(self) -> None:
        while batch := self._mailbox.take():
            self._work_through(batch)
            del batch  # or all that it holds would stay until more comes
        self._save_all()

    def _work_through(self, batch: list[Job]) -> None:
        for some in _asked_then_due(batch):
            before = turns()
            self._serve(some)
            # Where the loop goes on while the database works, the next transaction is sent first, if much waits.
            if turns() == before or not self._mailbox.is_worth_a_transaction():
                give_way()  # the answers leave, and what has come in is read

    def _serve(self, batch: list[Job]) -> None:
        """One transaction for all; the answers go out after its commit."""
        started = time.perf_counter()
        try:
            with self._database.write() as connection:
                transaction = Transaction(connection)
                answers = self._perform(batch, transaction)
                transaction.flush(is_last=True)
        except Overtaken:
            self.meter.dropped()
            self._forget(batch)
            for job in batch:
                self._look_first_for(SHARED_S, job.operation.learner)
            self._serve(batch)
            return
        except Exception as problem:
            self.meter.failed()
            self._forget(batch)
            self._recover_from(batch, problem)
            return
        self.meter.committed(len(batch), time.perf_counter() - started)
        _publish(batch, answers)
        self._offer_aside(batch)
        self._let_go()

    def _let_go(self) -> None:
        """Of the learners that were asked longest ago, if that is long enough and their snapshots are taken."""
        while self._live and time.monotonic() - (oldest := next(iter(self._live.values()))).asked_at >= IDLE_S:
            if oldest.position > oldest.snapshot_position:
                self._aside.offer(oldest, is_leaving=True)
            if oldest.position > oldest.snapshot_position:
                return  # the other thread has something to do
            del self._live[oldest.name], self._looked_at_until[oldest.name]

    def _offer_aside(self, batch: list[Job]) -> None:
        """Whatever takes long for these learners is done on another thread, once their callers have their answers."""
        for name in {job.operation.learner for job in batch}:
            if name in self._live:
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
        """The answers in the order of the batch."""
        by_name: dict[str, list[int]] = {}
        for index, job in enumerate(batch):
            by_name.setdefault(job.operation.learner, []).append(index)
        answers: list[Any] = [NotFound("learner", "no such learner")] * len(batch)
        known: list[LiveLearner] = []
        for name, indexes in by_name.items():
            live = self._known(transaction.connection, name)
            if isinstance(live, GapInLog):
                for index in indexes:
                    answers[index] = live
            elif live is not None:
                known.append(live)
        now = self._clock()
        for live in self._locked(known, transaction):
            self.meter.begun(live)
            indexes = by_name[live.name]
            done = _perform_where_it_fits([batch[index].operation for index in indexes], live, transaction, now)
            for index, answer in zip(indexes, done, strict=True):
                answers[index] = answer
        return answers

    def _known(self, connection: Connection, name: str) -> LiveLearner | GapInLog | None:
        """The copy of this learner, made if there is none. One that cannot be made is no reason to fail the others."""
        try:
            live = self._live.get(name) or self._revived(connection, name)
        except GapInLog as problem:
            self._warn("operation failed", reason=repr(problem))
            return problem
        if live is not None:
            live.asked_at = time.monotonic()
            self._live.move_to_end(name)
        return live

    def _revived(self, connection: Connection, name: str) -> LiveLearner | None:
        """A new copy from the log; None if there is no such learner."""
        self._live.pop(name, None)
        row = rows.find(connection, name)
        if row is None:
            self._looked_at_until.pop(name, None)
        else:
            self._live[name] = apart(partial(revive, connection, row, self._warn))
            self.look_first(name)
        return self._live.get(name)

    def _locked(self, known: list[LiveLearner], transaction: Transaction) -> Iterator[LiveLearner]:
        """Each, once its row is held and its copy is at the log's head; those that are gone are left out.

        A copy of one that was deleted, or that ran ahead of the log, is not it: there may be a new one of that name.
        Its turn comes when its id's does: two processes that take rows in different orders wait for each other.
        """
        waiting = sorted(known, key=_id)
        while waiting:
            live = waiting.pop(0)
            if self._lock(live, transaction):
                yield live
            elif (renewed := self._revived(transaction.connection, live.name)) is not None:
                insort(waiting, renewed, key=_id)

    def _lock(self, live: LiveLearner, transaction: Transaction) -> bool:
        """Take the learner's row and bring the copy up to the log's head; whether it is a copy of that learner."""
        row = transaction.lock(live.id, self._belief(live))
        if row is None or live.position > row.head:
            return False
        if live.is_new:
            discard_ahead(transaction.connection, live, self._warn)
            live.is_new = False
        if row.mode != live.mode:
            live.mode = as_mode(row.mode)
        live.paused = bool(row.paused)
        if row.spec != live.spec:  # the wait or the default was changed
            live.redraw(row.spec)
        if row.head > live.position:
            self._look_first_for(SHARED_S, live.name)
        if row.head > live.position + CAUGHT_UP_AT_ONCE:
            apart(partial(catch_up, transaction.connection, live))
        elif row.head > live.position:
            catch_up(transaction.connection, live)
        if live.position < row.head:
            raise GapInLog(f"{live.name}: the log ends before its head")
        return True

    def _belief(self, live: LiveLearner) -> Locked | None:
        """What the learner's row says, unless somebody may have changed it."""
        if time.monotonic() < self._looked_at_until[live.name]:
            return None
        return Locked(live.position, live.mode, live.paused, live.spec)

    def _forget(self, batch: list[Job]) -> None:
        for job in batch:
            self._live.pop(job.operation.learner, None)

    def _save_all(self) -> None:
        """What cannot be saved in time is in the log."""
        self._saving.save_all(self._live.values())


def _asked_then_due(batch: list[Job]) -> Iterator[list[Job]]:
    """Nobody who asked waits for what the sweep has found, or fails with a learner that only the sweep asks about."""
    due = [job for job in batch if type(job.operation) is Settle]
    asked = [job for job in batch if type(job.operation) is not Settle] if due else batch
    yield from filter(None, (asked, due))


def _publish(batch: list[Job], answers: list[Any]) -> None:
    """Give everyone their answer."""
    for job, answer in zip(batch, answers, strict=True):
        if job.answer.done():  # gave up waiting
            continue
        if isinstance(answer, Exception):
            job.answer.set_exception(answer)
        else:
            job.answer.set_result(answer)


def _perform_where_it_fits(
    operations: list[Operation], live: LiveLearner, transaction: Transaction, now: int
) -> list[Any]:
    """Look up what all of them need, then perform them; on another thread if that takes long."""
    needs = [operation.needs(live) for operation in operations]
    if any(map(any, needs)):
        _look_up(needs, live, transaction)
    perform = partial(_perform_all, operations, live, transaction, now)
    return perform() if live.pace.expected_s(operations) <= TURN_S else apart(perform)


def _look_up(needs: list[Needs], live: LiveLearner, transaction: Transaction) -> None:
    transaction.look_up(live.id, [name for need in needs for name in (*need.events, *need.said)])
    told = [transaction.find(live.id, name) for need in needs for name in need.said]
    transaction.hear(live.id, [found.event.position for found in told if found is not None])
    transaction.recall_all([name for need in needs for name in need.answers])


def _perform_all(operations: list[Operation], live: LiveLearner, transaction: Transaction, now: int) -> list[Any]:
    """In order, neighbours of one kind together."""
    answers: list[Any] = []
    for _, some in groupby(operations, key=type):
        alike, started = list(some), time.perf_counter()
        answers += perform_alike(alike, live, transaction, now)
        live.pace.took(alike, time.perf_counter() - started)
    live.open.trim()
    return answers
