"""`holdfast simulate`. Wrong input gives one line and exit code 2, a violation of what the auditor holds 1."""

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from holdfast_client import HoldfastError
from holdfast_client.simulator import load_report, replay, report, traces
from holdfast_client.simulator import soak as soaking
from holdfast_client.simulator.load import WORKERS_MAX, put_on
from holdfast_client.simulator.local import CannotServe, Service, at, own_service
from holdfast_client.simulator.run import BATCH, Account, Plan, run
from holdfast_client.simulator.scenarios import SCENARIOS, Scenario
from holdfast_client.simulator.sessions import SESSIONS, SessionScenario
from holdfast_client.simulator.traffic import ARRIVALS
from holdfast_client.simulator.workers import Load

UNINSURED = {"corruption": {"budget": 0}}
DEMO, DEMO_ROUNDS, DEMO_SEEDS, DEMO_BATCH = "cold-item", 8_000, 3, 50
DEMO_RATIO_MAX = 0.5
BATCH_MAX = 1_000  # that the service takes in one call
ROUNDS_MAX = 10_000_000
SEED_MAX = 2**32
MOST = 1e6  # seconds, or decisions per second
NO_SETTINGS = ("name", "timeout", "retries")  # what the SDK takes besides the settings of a learner
EVERY: Mapping[str, Scenario | SessionScenario] = {**SCENARIOS, **SESSIONS}
Configurations = Mapping[str, Mapping[str, Any]]


def main(words: Sequence[str]) -> int:
    """Run one subcommand; the exit code."""
    arguments = _parser().parse_args(words)
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that what is ours goes, too
    try:
        code: int = arguments.perform(arguments)
    except (HoldfastError, CannotServe, OSError, ValueError) as problem:
        sys.stderr.write(f"holdfast simulate: {problem}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="holdfast simulate", description="Adversarial traffic with a known truth.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="every scenario")
    listed.set_defaults(perform=list_scenarios)
    one = commands.add_parser("run", help="one scenario against an insured learner")
    _add_options(one)
    one.add_argument("--settings", type=_settings, default={}, help="JSON: settings of the learner that win")
    _add_load(one)
    one.set_defaults(perform=run_one)
    two = commands.add_parser("compare", help="two configurations of the learner in one scenario")
    _add_options(two)
    two.add_argument("--seeds", type=_count, default=1, help="that many seeds, from --seed on, for the bands")
    two.add_argument("--left", type=_settings, default=UNINSURED, help="JSON; uninsured unless told otherwise")
    two.add_argument("--right", type=_settings, default={}, help="JSON; the scenario's own, insured, unless told")
    two.set_defaults(perform=compare)
    past = commands.add_parser("replay", help="recorded traffic: .csv, .jsonl, .dsjson (VW, Personalizer), .parquet")
    past.add_argument("file", type=Path)
    past.add_argument("--url", help="the service; otherwise HOLDFAST_URL, otherwise one that is started for this")
    past.add_argument("--settings", type=_settings, default={}, help="JSON: settings of the learner")
    past.add_argument("--batch", type=_batch, default=BATCH, help="rows in one call")
    past.set_defaults(perform=replay_file)
    long = commands.add_parser("soak", help="half of what the service can do, with faults: violations, memory, latency")
    long.add_argument("--url", help="the service; otherwise HOLDFAST_URL, otherwise one that is started for this")
    long.add_argument("--duration", type=_seconds, default=600.0, help="seconds")
    long.add_argument("--workers", type=_workers, default=1)
    long.add_argument("--batch", type=_batch, default=BATCH)
    long.add_argument("--seed", type=_seed, default=0)
    long.add_argument("--report", type=_folder, help="folder for a page with pictures, and JSON")
    long.set_defaults(perform=soak)
    shown = commands.add_parser("demo", help="a cold-item attack on an uninsured and an insured learner; a minute")
    shown.add_argument("--report", type=_folder, default=Path("data/demo"), help="folder for page, pictures and JSON")
    shown.add_argument("--rounds", type=_count, default=DEMO_ROUNDS)
    shown.add_argument("--seeds", type=_count, default=DEMO_SEEDS)
    shown.set_defaults(perform=demo)
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", type=_scenario, metavar="SCENARIO", help="an id from `holdfast simulate list`")
    parser.add_argument("--url", help="the service; otherwise HOLDFAST_URL, otherwise one that is started for this")
    parser.add_argument("--rounds", type=_count, default=2_000)
    parser.add_argument("--seed", type=_seed, default=0)
    parser.add_argument("--batch", type=_batch, default=BATCH, help="rounds in one call; sessions go step by step")
    parser.add_argument("--report", type=_folder, help="folder for a page with pictures, and JSON")


def _add_load(parser: argparse.ArgumentParser) -> None:
    about = "with a duration, calls come on a schedule instead of one after another, however many rounds that makes"
    load = parser.add_argument_group("load", about)
    load.add_argument("--duration", type=_seconds, help="seconds")
    load.add_argument("--rate", type=_seconds, help="decisions per second; without it as many as the service can take")
    load.add_argument("--workers", type=_workers, default=1, help="processes that call")
    load.add_argument("--arrivals", choices=ARRIVALS, default="constant")


def _scenario(name: str) -> Scenario | SessionScenario:
    if name not in EVERY:
        raise argparse.ArgumentTypeError("there is no such scenario; `holdfast simulate list` has them all")
    return EVERY[name]


def _whole(text: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most:,}")
    return int(text)


def _count(text: str) -> int:
    return _whole(text, 1, ROUNDS_MAX)


def _batch(text: str) -> int:
    return _whole(text, 1, BATCH_MAX)


def _workers(text: str) -> int:
    return _whole(text, 1, WORKERS_MAX)


def _seed(text: str) -> int:
    return _whole(text, 0, SEED_MAX)


def _folder(text: str) -> Path:
    """Found out now and not at the end of a long run."""
    folder = Path(text)
    there = next((place for place in (folder, *folder.parents) if place.exists()), Path())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise argparse.ArgumentTypeError(f"{there} is no folder that can be written to")
    return folder


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < MOST:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and below {MOST:,.0f}")
    return number


def _settings(text: str) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except json.JSONDecodeError:
        settings = None
    if not isinstance(settings, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    if strange := [name for name in NO_SETTINGS if name in settings]:
        raise argparse.ArgumentTypeError(f"{strange[0]} is not a setting of a learner")
    return settings


def say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def list_scenarios(arguments: argparse.Namespace) -> int:
    rows = [["scenario", "attack", "budget", "about"]]
    for scenario in EVERY.values():
        attack = f"{scenario.aim} (weak)" if scenario.is_weak else scenario.aim
        rows.append([scenario.id, attack, "-" if scenario.aim == "nobody" else f"{scenario.budget:g}", scenario.about])
    say(report.table(rows))
    return 0


def run_one(arguments: argparse.Namespace) -> int:
    if arguments.duration is not None:
        return run_load(arguments)
    if arguments.rate is not None:
        raise ValueError("--rate needs a --duration")
    with at(arguments.url) as service:
        groups = _accounts(service, arguments, {"learner": arguments.settings}, 1)
    return _conclude(f"{arguments.scenario.id}: {arguments.scenario.about}", groups, arguments.report)


def run_load(arguments: argparse.Namespace) -> int:
    batch = 1 if arguments.scenario.id in SESSIONS else arguments.batch
    load = Load(
        arguments.scenario.id, arguments.duration, arguments.rate, arguments.workers, batch, arguments.seed,
        arguments.arrivals, settings=arguments.settings,
    )  # fmt: skip
    with at(arguments.url) as service, closing(load_report.Ticker(load)) as ticker:
        measured = put_on(service.url, load, service.pid, ticker)
    say(*load_report.lines(measured))
    if arguments.report is not None:
        say(f"\nThe pictures: {load_report.write(arguments.report, measured)}")
    return int(bool(measured.violations))


def replay_file(arguments: argparse.Namespace) -> int:
    rows = traces.read(arguments.file)
    with at(arguments.url) as service:
        replayed = replay.replay(service.url, rows, arguments.settings, arguments.batch)
    say(*replayed.lines())
    return int(bool(replayed.violations))


def soak(arguments: argparse.Namespace) -> int:
    """Half of what the service can do, for a long time, with every fault of traffic and network."""
    with at(arguments.url) as service:
        say("Measuring what the service can do …")
        soaked = soaking.soak(service, arguments.duration, arguments.workers, arguments.batch, arguments.seed)
    say(*load_report.lines(soaked.measured), "", *soaked.lines())
    if arguments.report is not None:
        say(f"\nThe pictures: {load_report.write(arguments.report, soaked.measured, soaked.lines())}")
    return int(not soaked.is_fine())


def compare(arguments: argparse.Namespace) -> int:
    names = ("uninsured", "insured") if (arguments.left, arguments.right) == (UNINSURED, {}) else ("left", "right")
    both = dict(zip(names, (arguments.left, arguments.right), strict=True))
    with at(arguments.url) as service:
        groups = _accounts(service, arguments, both, arguments.seeds)
    return _conclude(f"{arguments.scenario.id}: {arguments.scenario.about}", groups, arguments.report)


def demo(arguments: argparse.Namespace) -> int:
    """Ends with 1, too, if insurance did not buy what it must."""
    arguments.scenario, arguments.seed, arguments.batch = SCENARIOS[DEMO], 0, DEMO_BATCH
    scenario, first = arguments.scenario, arguments.rounds // 10
    say(
        f"A catalogue of nine items. In round {first:,} a tenth arrives, better than all. An attacker who can fake "
        f"{scenario.budget:g} rewards in all",
        "gives it nothing but zeros. The same traffic, over HTTP, for a learner without and one with insurance:\n",
    )
    with own_service() as service:
        groups = _accounts(service, arguments, {"uninsured": UNINSURED, "insured": {}}, arguments.seeds)
    code = _conclude("The best item arrives, and its first ratings are fake", groups, arguments.report)
    (_, *rows) = report.summary(groups)
    uninsured, insured = (float(row[2]) for row in rows)
    ratio = insured / uninsured if uninsured > 0.0 else math.inf
    say(f"\nInsured lost {insured:.0f}, uninsured {uninsured:.0f}: ×{ratio:.2f} (≤ {DEMO_RATIO_MAX}).")
    return code or int(ratio > DEMO_RATIO_MAX)


def _accounts(
    service: Service, arguments: argparse.Namespace, configurations: Configurations, seeds: int
) -> dict[str, list[Account]]:
    """Each configuration with each seed, one after the other."""
    groups: dict[str, list[Account]] = {name: [] for name in configurations}
    for seed in range(arguments.seed, arguments.seed + seeds):
        for name, settings in configurations.items():
            plan = Plan(arguments.scenario, arguments.rounds, seed, arguments.batch, settings)
            groups[name].append(run(service.url, plan, report.Ticker(f"{name}, seed {seed}")))
    return groups


def _conclude(title: str, groups: Mapping[str, Sequence[Account]], folder: Path | None) -> int:
    """Print, write, and say whether the auditor is content."""
    rows, accounts = report.summary(groups), [account for group in groups.values() for account in group]
    say(report.table(rows), *report.broken(accounts))
    if folder is not None:
        data = {name: [report.facts(account) for account in group] for name, group in groups.items()}
        page = report.write(folder, title, rows, data, report.pictures(groups), report.broken(accounts))
        say(f"\nThe pictures: {page}")
    return int(any(account.violations for account in accounts))
