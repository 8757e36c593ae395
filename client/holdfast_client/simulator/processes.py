"""What a process of this machine uses (proc(5)); nothing where there is no /proc."""

import os
import time
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    """CPU seconds so far, seconds in which its threads were ready and had to wait for a core, and resident memory."""

    at_s: float
    cpu_s: float
    queued_s: float
    memory_mib: float


class Busy(NamedTuple):
    """Cores used, and cores wanted: used, or waited for."""

    used: float
    wanted: float

    def __str__(self) -> str:
        return f"{self.used:.0%} of a core ({self.wanted:.0%} wanted)"


def busy(before: Usage, after: Usage) -> Busy:
    """Between two moments.

    >>> str(busy(Usage(0.0, 1.0, 0.0, 9.0), Usage(2.0, 2.0, 0.5, 9.0)))
    '50% of a core (75% wanted)'
    """
    seconds = max(after.at_s - before.at_s, 1e-9)
    used = (after.cpu_s - before.cpu_s) / seconds
    return Busy(used, used + (after.queued_s - before.queued_s) / seconds)


def usage_of(pid: int) -> Usage:
    """Fields 14 and 15 of stat, the second number of every thread's schedstat, and the second of statm.

    >>> usage_of(os.getpid()).memory_mib > 1.0
    True
    """
    now, place = time.perf_counter(), Path(f"/proc/{pid}")
    try:
        fields = (place / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        pages = int((place / "statm").read_text(encoding="utf-8").split()[1])
        queued = sum(int(file.read_text().split()[1]) for file in place.glob("task/*/schedstat"))
    except OSError:
        return Usage(now, 0.0, 0.0, 0.0)
    ticks = int(fields[11]) + int(fields[12])
    return Usage(now, ticks / os.sysconf("SC_CLK_TCK"), queued / 1e9, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
