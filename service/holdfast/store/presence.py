"""Whether the database is there: once it is lost, everyone is refused at once, and one thread looks out for it."""

import threading
from collections.abc import Callable

from holdfast.errors import Unavailable

LOOK_EVERY_S = 0.1


class Presence:
    """Nobody waits for a database that is known to be away, so that no thread is held by it and no queue grows."""

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._away = False
        self._changing = threading.Lock()
        self._closed = threading.Event()

    def demand(self) -> None:
        if self._away:
            raise Unavailable("the database is away")

    def lost(self) -> None:
        """Refuse everyone until it answers again."""
        with self._changing:
            if self._away or self._closed.is_set():
                return
            self._away = True
        threading.Thread(target=self._look_out, name="holdfast-lookout", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _look_out(self) -> None:
        while not self._closed.is_set():
            if self._answers():
                self._away = False
                return
            self._closed.wait(LOOK_EVERY_S)
