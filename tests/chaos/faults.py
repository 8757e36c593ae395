"""What can go wrong under a running service, and how each ends."""

import resource
import time
from collections.abc import Callable
from typing import NamedTuple

from tests.acceptance.server import Server
from tests.chaos.places import Disk, Postgresql

SHORT_STALL_S = 3.0
LONG_STALL_S = 6.0  # longer than a silent server is waited for
AWAY_S = 1.0
DISK_FULL = "disk full"  # needs a file system of its own


class Trouble(NamedTuple):
    """One fault: how it begins, how long it lasts, how it ends, and whether callers must have been refused for it."""

    name: str
    begin: Callable[[], None]
    lasts_s: float
    end: Callable[[], None]
    refuses: bool


def troubles_of_postgresql(database: Postgresql, disk: Disk | None) -> list[Trouble]:
    def nothing() -> None:
        """It is over as soon as it has happened."""

    troubles = [
        Trouble("stalled 3 s", database.stall, SHORT_STALL_S, database.go_on, refuses=False),
        Trouble("stalled 6 s", database.stall, LONG_STALL_S, database.go_on, refuses=True),
        Trouble("answers withheld 6 s", database.proxy.fall_silent, LONG_STALL_S, database.proxy.go_on, refuses=True),
        Trouble("backends terminated", database.terminate_backends, 0.0, nothing, refuses=False),
        Trouble("connections reset", database.proxy.reset, 0.0, nothing, refuses=False),
        Trouble("stopped at once, started again", database.stop_at_once, AWAY_S, database.start_again, refuses=True),
    ]
    if disk is not None:

        def make_room() -> None:
            disk.empty()
            database.start_again()  # a full disk may end it

        troubles.append(Trouble(DISK_FULL, disk.fill, AWAY_S, make_room, refuses=True))
    return troubles


def troubles_of_sqlite(server: Server, disk: Disk | None) -> list[Trouble]:
    troubles = [
        # Every write to a file fails, the service's own log too; from outside, and anybody may do it to their process.
        Trouble("no byte more", lambda: _limit(server, 0), AWAY_S, lambda: _limit(server, None), refuses=True)
    ]
    if disk is not None:
        troubles.append(Trouble(DISK_FULL, disk.fill, AWAY_S, disk.empty, refuses=True))
    return troubles


def _limit(server: Server, size: int | None) -> None:
    """How large a file the process may write; None is as before."""
    assert server.process is not None
    hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def endure(trouble: Trouble, refused: Callable[[], bool], give_up_after_s: float) -> None:
    """From its begin to its end; one that refuses lasts until somebody was refused."""
    trouble.begin()
    try:
        over, last = time.monotonic() + trouble.lasts_s, time.monotonic() + give_up_after_s
        while time.monotonic() < over or (trouble.refuses and not refused() and time.monotonic() < last):
            time.sleep(0.05)
    finally:
        trouble.end()
