"""`python -m tests.benchmarks SECTION`: the tables of the README and BENCHMARKS.md, reproduced."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator

from tests.benchmarks import (
    endurance,
    nonlinear,
    numerics,
    record,
    regret,
    sdk,
    service,
    sessions,
    sessions_cost,
    speed,
    steps,
)

Section = Callable[[bool], Iterator[str]]

ENDURANCE = "endurance"
APART = (ENDURANCE,)  # not part of `all`
SECTIONS: dict[str, Section] = {
    ENDURANCE: lambda quick: endurance.report(endurance.Setting(3_000, 1_000, 1_000) if quick else endurance.Setting()),
    "speed": lambda quick: speed.report(speed.Setting((32,), (10,), 100) if quick else speed.Setting()),
    "service": lambda quick: service.report(service.Setting(200, 1, 8) if quick else service.Setting()),
    "sdk": lambda quick: sdk.report(sdk.Setting(3, 2) if quick else sdk.Setting()),
    "steps": lambda quick: steps.report(steps.Setting(4, 8, 3, 10, 1, 1) if quick else steps.Setting()),
    "numerics": lambda quick: numerics.report(numerics.Setting(5_000) if quick else numerics.Setting()),
    "nonlinear": lambda quick: nonlinear.report(nonlinear.Setting(300, 2, 200, 400) if quick else nonlinear.Setting()),
    "regret": lambda quick: regret.report(regret.Setting(500, 2, 5.0, 200) if quick else regret.Setting()),
    "sessions": lambda quick: sessions.report(
        sessions.Setting(2, 0.02, sessions_cost.Setting(200, 60, 2)) if quick else sessions.Setting()
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("section", choices=["all", *SECTIONS], help=f"all is everything but {' and '.join(APART)}")
    parser.add_argument("--quick", action="store_true", help="few rounds: shows that it runs, not what it says")
    parser.add_argument("--record", action="store_true", help="with all: write BENCHMARKS.md and the README's summary")
    arguments = parser.parse_args()
    everything = arguments.section == "all"
    names = [name for name in SECTIONS if name not in APART] if everything else [arguments.section]
    if arguments.record and (arguments.quick or not everything):
        parser.error("--record needs the whole of `all`")
    commit = record.checked_out() if arguments.record else ""
    printed = {name: _print(name, arguments.quick) for name in names}
    if arguments.record:
        record.write(printed, commit)
    return 0


def _print(name: str, quick: bool) -> str:
    """Print line by line as it comes; returns the whole."""
    print(f"## {name}\n", flush=True)
    started, lines = time.perf_counter(), []
    for line in SECTIONS[name](quick):
        print(line, flush=True)
        lines.append(line)
    print(f"\n({time.perf_counter() - started:.0f} s)\n", file=sys.stderr, flush=True)
    return "\n".join(lines).strip()


if __name__ == "__main__":
    sys.exit(main())
