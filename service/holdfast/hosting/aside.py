"""Work that would keep requests waiting, on a thread of its own: one errand at a time, in no hurry.

A snapshot is only written. What another errand finds out goes through the writer like any operation, so the log says
when it took effect. If nobody wants it any more, or the process ends, it was in vain and will be due again.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from holdfast.errors import Conflict, NotFound, Unavailable
from holdfast.hosting.kinds import errand_of
from holdfast.hosting.live import Errand, LiveLearner
from holdfast.hosting.recover import Warn
from holdfast.hosting.saving import Saving
from holdfast.store.database import Database

ANSWER_WITHIN_S = 60.0
REST_AFTER_FAILURE_S = 5.0


class Aside:
    """The writer offers its learners; whichever has something due while nothing is under way is taken care of."""

    def __init__(self, database: Database, saving: Saving, submit: "Callable[[Any], Future[Any]]", warn: Warn) -> None:
        self._database = database
        self._saving = saving
        self._submit = submit
        self._warn = warn
        self._errands: SimpleQueue[tuple[str, Errand] | None] = SimpleQueue()
        self._is_busy = False
        self._rests_until = 0.0
        self._thread = threading.Thread(target=self._run, name="holdfast-aside", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more; what is under way is given up with the process."""
        self._is_busy = True
        self._errands.put(None)

    def offer(self, live: LiveLearner, is_leaving: bool = False) -> None:
        """Called by the writer after a commit, when the learner is as the log has it."""
        if self._is_busy or time.monotonic() < self._rests_until:
            return
        errand = self._saving.errand(live, is_leaving) or errand_of(live)
        if errand is not None:
            self._is_busy = True
            self._errands.put((live.name, errand))

    def _run(self) -> None:
        while (errand := self._errands.get()) is not None:
            self._do(*errand)
            self._is_busy = False

    def _do(self, learner: str, errand: Errand) -> None:
        try:
            errand(self._database, lambda operation: self._submit(operation).result(ANSWER_WITHIN_S))
        except (NotFound, Conflict):
            pass  # the learner is gone, or one of another kind has its name: it was in vain
        except Exception as problem:
            self._rests_until = time.monotonic() + REST_AFTER_FAILURE_S
            if not isinstance(problem, Unavailable):  # the database is away, and others say so
                self._warn("errand failed", learner=learner, reason=repr(problem))
