"""`python -m tests.chaos`: kills and other faults under load on each database; exit code 1 if a promise was broken."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.tables import table, verdict
from tests.chaos.audit import KINDS, Fault
from tests.chaos.disturbance import Outcome, disturb_again_and_again
from tests.chaos.faults import DISK_FULL
from tests.chaos.harness import Report, kill_again_and_again
from tests.databases import KINDS as DATABASES
from tests.databases import fresh_url

HEADER = ["database", "kills", "acknowledged", "repeated", *KINDS, "restart (median s)"]
TROUBLE = [
    "database",
    "fault",
    "times",
    "acknowledged",
    "503s",
    "unanswered",
    *KINDS,
    "slowest answer (s)",
    "recovery (s)",
]
FAULTS_SHOWN_MAX = 20
RECOVERY_MAX_S = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="on each database")
    parser.add_argument("--rounds", type=int, default=5, help="of every other fault, on each database")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="a run's own, unless given")
    parser.add_argument("--database", choices=DATABASES, action="append", help="one of them alone")
    parser.add_argument("--mutant", default="", help="a broken build of tests/chaos/mutants.py")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    databases = arguments.database or DATABASES
    kept = True
    if arguments.kills:
        kept = _kill(databases, arguments.kills, arguments.seed, arguments.mutant)
    if arguments.rounds:
        kept = _disturb(databases, arguments.rounds, arguments.seed, arguments.mutant) and kept
    return 0 if kept else 1


def _kill(databases: list[str], kills: int, seed: int, mutant: str) -> bool:
    """Whether every promise was kept."""
    reports = {kind: _run(kind, kills, seed, mutant) for kind in databases}
    print(table(HEADER, [_row(kind, report) for kind, report in reports.items()]), flush=True)
    complaints = [_complain(kind, report.faults) for kind, report in reports.items()]
    return not any(complaints)


def _disturb(databases: list[str], rounds: int, seed: int, mutant: str) -> bool:
    """Whether every promise was kept, and the service was back in time."""
    every: dict[str, list[Outcome]] = {}
    for kind in databases:
        with tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as folder:
            every[kind] = disturb_again_and_again(kind, Path(folder), rounds, seed, mutant, _say)
    print("\n" + table(TROUBLE, [row for kind, outcomes in every.items() for row in _troubles(kind, outcomes)]))
    complaints = [_complain(kind, _faults(outcomes)) for kind, outcomes in every.items()]
    together = [outcome for outcomes in every.values() for outcome in outcomes]
    if not any(outcome.trouble == DISK_FULL for outcome in together):
        print(f"\n{DISK_FULL} was not tried: this user may not mount a file system to fill")
    slowest_s = max(outcome.recovery_s for outcome in together)
    in_time = slowest_s <= RECOVERY_MAX_S
    print(f"\nslowest recovery, without a restart: {slowest_s:.2f} s {verdict(f'≤ {RECOVERY_MAX_S:.0f} s', in_time)}")
    return in_time and not any(complaints) and not any(o.refused_wrongly or o.unanswered for o in together)


def _complain(kind: str, faults: frozenset[Fault]) -> bool:
    """Whether there was anything to complain about."""
    for fault in sorted(faults)[:FAULTS_SHOWN_MAX]:
        print(f"{kind}: {fault.kind}: {fault.learner}: {fault.what}")
    return bool(faults)


def _say(what: str) -> None:
    print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


def _faults(outcomes: list[Outcome]) -> frozenset[Fault]:
    return frozenset(fault for outcome in outcomes for fault in outcome.faults)


def _troubles(kind: str, outcomes: list[Outcome]) -> Iterator[list[object]]:
    """A line for each kind of fault: sums, and the worst times."""
    for name in dict.fromkeys(outcome.trouble for outcome in outcomes):
        same = [outcome for outcome in outcomes if outcome.trouble == name]
        sums = [sum(getattr(o, what) for o in same) for what in ("acknowledged", "refused", "unanswered")]
        counts = [sum(fault.kind == what for o in same for fault in o.faults) for what in KINDS]
        times = [f"{max(o.slowest_s for o in same):.2f}", f"{max(o.recovery_s for o in same):.2f}"]
        yield [kind, name, len(same), *sums, *counts, *times]


def _run(kind: str, kills: int, seed: int, mutant: str) -> Report:
    with tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as folder:
        url = fresh_url(kind, Path(folder))
        report = kill_again_and_again(url, kills, seed, mutant, lambda kill: _say(f"{kind}: {kill} of {kills} kills"))
    print(file=sys.stderr)
    return report


def _row(kind: str, report: Report) -> list[object]:
    counts = [report.count(fault) for fault in KINDS]
    return [kind, report.kills, report.acknowledged, report.repeated, *counts, f"{report.median_restart_s():.2f}"]


if __name__ == "__main__":
    sys.exit(main())
