"""What is due without anybody asking, found on a thread of its own: the writer goes on while it looks.

Whatever touches a learner goes through the writer like any other operation.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from holdfast.errors import Unavailable
from holdfast.hosting.meter import Meter
from holdfast.hosting.recover import Warn
from holdfast.hosting.settle import Settle
from holdfast.store import idempotency, learners
from holdfast.store.database import Database
from holdfast.store.log import overdue

EVERY_S = 0.5
LEARNERS_MAX = 100
FORGET_EVERY_S = 60.0
# Of the two that may have much to do, before the others have their turn.
REMOVE_FOR_S = 0.25
SETTLE_FOR_S = 0.5
ANSWER_WITHIN_S = 60.0


class Sweep:
    """Waits that have ended, answers nobody will ask for again, what deleted learners left behind, and SQLite's log."""

    def __init__(
        self,
        database: Database,
        submit: "Callable[[Any], Future[Any]]",
        clock: Callable[[], int],
        meter: Meter,
        warn: Warn,
    ) -> None:
        self._database = database
        self._submit = submit
        self._clock = clock
        self._meter = meter
        self._warn = warn
        self._forget_from = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-sweep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._is_over.set()

    def join(self, timeout_s: float) -> None:
        """Wait until nothing is under way."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._is_over.is_set():
            if not self._is_more_due():
                self._is_over.wait(EVERY_S)

    def _is_more_due(self) -> bool:
        """Do what is due, some of it of each learner; whether there may be more of it at once."""
        try:
            return self._sweep()
        except Unavailable:
            pass  # others say so
        except Exception as problem:
            self._warn("sweep failed", reason=repr(problem))
        return False

    def _sweep(self) -> bool:
        self._meter.sweeps += 1
        self._database.tidy()
        self._forget_answers()
        with self._database.read() as connection:
            deleted, names = learners.being_removed(connection), overdue(connection, self._clock(), LEARNERS_MAX)
        self._remove_all(deleted, time.monotonic() + REMOVE_FOR_S)
        return self._settle_all(names, time.monotonic() + SETTLE_FOR_S)

    def _settle_all(self, names: list[str], until: float) -> bool:
        """In turn, some of each; whether there may be more."""
        while names and time.monotonic() < until:
            names = [name for name in names if self._settle(name)]
        return bool(names)

    def _settle(self, name: str) -> bool:
        """Settle what of a learner has waited long enough; whether there may be more."""
        answer = self._submit(Settle(name))
        return answer.exception(ANSWER_WITHIN_S) is None and bool(answer.result())

    def _remove_all(self, deleted: list[int], until: float) -> None:
        """What deleted learners have left behind, some of it; others that write have as much time as it takes."""
        for learner_id in deleted:
            is_more = True
            while is_more and (started := time.monotonic()) < until:
                with self._database.write() as connection:
                    is_more = learners.remove_some(connection, learner_id)
                self._is_over.wait(time.monotonic() - started)

    def _forget_answers(self) -> None:
        """Those that nobody will ask for: all of them in a while, some now."""
        if time.monotonic() < self._forget_from:
            return
        with self._database.write() as connection:
            forgotten = idempotency.forget(connection, self._clock())
        if forgotten < idempotency.FORGOTTEN_AT_ONCE_MAX:
            self._forget_from = time.monotonic() + FORGET_EVERY_S
