"""`python -m tests.benchmarks.peers`: Holdfast beside other libraries. `make bench-peers` installs them and runs it."""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.benchmarks import record as checked
from tests.benchmarks import service as bare_service
from tests.benchmarks.peers import over_http, page, record, regret, service, sessions, speed, spending, tuning
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.tables import verdict

PAGE = checked.ROOT / "data" / "peers"
MINUTES_MAX, QUICK_MINUTES_MAX = 30.0, 3.0


class Plan(NamedTuple):
    """How much of everything."""

    attacked: regret.Setting = regret.Setting()
    spent: spending.Setting = spending.Setting()
    remote: over_http.Setting = over_http.Setting()
    timed: speed.Setting = speed.Setting()
    served: bare_service.Setting = bare_service.Setting(2_000, 5, 64)
    episodic: sessions.Setting = sessions.Setting()


QUICK = Plan(
    regret.Setting(100, 2, 2.0, tuning.Trial(60, 1)),
    spending.Setting(50, 2, 2.0, (0.0, 1.0), (0.0, 2.0)),
    over_http.Setting(40, 1, 2.0),
    speed.Setting(((8, 4),), 50, 3, 0.002),
    bare_service.Setting(200, 1, 8),
    sessions.Setting(24, 8, 1, 1),
)


class Printer:
    """Prints line by line as it comes, and keeps it."""

    def __init__(self) -> None:
        self.sections: dict[str, str] = {}
        self.started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def __call__(self, name: str, lines: Iterator[str]) -> None:
        print(f"## {name}\n", flush=True)
        kept = []
        for line in lines:
            print(line, flush=True)
            kept.append(line)
        print(f"\n({self.seconds:.0f} s since the start)\n", file=sys.stderr, flush=True)
        self.sections[name] = "\n".join(kept).strip()


def run(plan: Plan, minutes_max: float) -> Printer:
    """Everything, what is timed by itself first, and the page of it."""
    printer = Printer()
    printer("who", roster().said())
    printer("speed, in-process", speed.report(plan.timed))
    printer("speed, as a service", service.report(plan.served))
    choices = tuning.tune(plan.attacked.trial)
    results = regret.measure(plan.attacked, choices)
    printer("regret under attack", regret.report(plan.attacked, choices, results))
    printer("regret over HTTP", over_http.report(plan.remote, choices))
    spent = spending.measure(plan.spent)
    printer("regret against spend", spending.report(plan.spent, spent))
    printer("sessions", sessions.report(plan.episodic))
    printer("time", _time(printer, minutes_max))
    written = page.write(PAGE, printer.sections, results, spent, (plan.attacked, plan.spent))
    print(f"The page with the pictures: {written.relative_to(checked.ROOT)}", file=sys.stderr)
    return printer


def _time(printer: Printer, minutes_max: float) -> Iterator[str]:
    minutes = printer.seconds / 60.0
    yield f"everything took {minutes:.1f} minutes {verdict(f'≤ {minutes_max:g}', minutes <= minutes_max)}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs, not what it says")
    parser.add_argument("--record", action="store_true", help="write PEERS.md and the README's part of it")
    arguments = parser.parse_args()
    if arguments.record and (arguments.quick or roster().missing or sessions.rlberry() is None):
        parser.error("--record needs the whole of it, and every peer")
    commit = checked.checked_out() if arguments.record else ""
    printer = run(QUICK, QUICK_MINUTES_MAX) if arguments.quick else run(Plan(), MINUTES_MAX)
    if arguments.record:
        record.write(printer.sections, commit, printer.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
