"""Whether the database is there: once it is lost, everyone is refused at once, and one thread looks out for it."""

import threading
from collections.abc import Callable

from holdfast.errors import Unavailable

LOOK_EVERY_S = 0.1
CLOSE_WITHIN_S = 1.0


class Presence:
    """Nobody waits for a database that is known to be away, so that no thread is held by it and no queue grows."""

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._away = False
        self._changing = threading.Lock()
        self._closed = threading.Event()
        self._lookout: threading.Thread | None = None

    def demand(self) -> None:
        if self._away:
            raise Unavailable("the database is away")

    def lost(self) -> None:
        """Refuse everyone until it answers again."""
        with self._changing:
            if self._away or self._closed.is_set():
                return
            self._away = True
            self._lookout = threading.Thread(target=self._look_out, name="holdfast-lookout", daemon=True)
            self._lookout.start()

    def close(self) -> None:
        """Look no more; what the lookout has borrowed it gives back first, if it can."""
        with self._changing:
            self._closed.set()
        if self._lookout is not None:
            self._lookout.join(CLOSE_WITHIN_S)

    def _look_out(self) -> None:
        while not self._closed.is_set():
            if self._answers():
                self._away = False
                return
            self._closed.wait(LOOK_EVERY_S)
