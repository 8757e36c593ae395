"""`python -m tests.chaos`: kill -9 under load on each database; exit code 1 if a promise was broken."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.tables import table
from tests.chaos.audit import KINDS
from tests.chaos.harness import Report, kill_again_and_again
from tests.databases import KINDS as DATABASES
from tests.databases import fresh_url

HEADER = ["database", "kills", "acknowledged", "repeated", *KINDS, "restart (median s)"]
FAULTS_SHOWN_MAX = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="on each database")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="a run's own, unless given")
    parser.add_argument("--database", choices=DATABASES, action="append", help="one of them alone")
    parser.add_argument("--mutant", default="", help="a broken build of tests/chaos/mutants.py")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    reports = {
        kind: _run(kind, arguments.kills, arguments.seed, arguments.mutant) for kind in arguments.database or DATABASES
    }
    print(table(HEADER, [_row(kind, report) for kind, report in reports.items()]))
    for kind, report in reports.items():
        for fault in sorted(report.faults)[:FAULTS_SHOWN_MAX]:
            print(f"{kind}: {fault.kind}: {fault.learner}: {fault.what}")
    return 1 if any(report.faults for report in reports.values()) else 0


def _run(kind: str, kills: int, seed: int, mutant: str) -> Report:
    def say(kill: int) -> None:
        print(f"\r{kind}: {kill} of {kills} kills", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as folder:
        report = kill_again_and_again(fresh_url(kind, Path(folder)), kills, seed, mutant, say)
    print(file=sys.stderr)
    return report


def _row(kind: str, report: Report) -> list[object]:
    counts = [report.count(fault) for fault in KINDS]
    return [kind, report.kills, report.acknowledged, report.repeated, *counts, f"{report.median_restart_s():.2f}"]


if __name__ == "__main__":
    sys.exit(main())
