"""Each peer gets the best of a small grid, chosen where nobody lies; what was tried and what was chosen is printed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tests.benchmarks.peers.contests import CONTESTS
from tests.benchmarks.peers.play import Job, play_all
from tests.benchmarks.peers.questions import Setting, described
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.tables import table

SEED_FIRST = 1_000  # of the tuning runs; the measured runs have others


class Trial(NamedTuple):
    """Rounds and seeds of one point of a grid; a cold item arrives within them.

    Many seeds rather than many rounds: on two of them a setting that locks in on the wrong item can be lucky.
    """

    rounds: int = 1_000
    seeds: int = 5


class Choice(NamedTuple):
    """The best setting on clean data, its regret there, and that of the worst one."""

    setting: Setting
    best: float
    worst: float


Choices = dict[tuple[str, str], Choice]


def tune(trial: Trial) -> Choices:
    """By contest and learner. A grid's order settles ties."""
    jobs = [
        Job(contest, name, setting, SEED_FIRST + seed, trial.rounds // 4, 0.0, 0.0)
        for contest in CONTESTS
        for name, entry in roster().entries.items()
        for setting in entry.grid
        for seed in range(trial.seeds)
    ]
    results = play_all(jobs)
    choices: Choices = {}
    for contest in CONTESTS:
        for name, entry in roster().entries.items():
            regrets = [
                float(np.mean([run.late for run in results[contest, name, repr(setting)]])) for setting in entry.grid
            ]
            best = int(np.argmin(regrets))
            choices[contest, name] = Choice(entry.grid[best], regrets[best], max(regrets))
    return choices


def told(trial: Trial) -> str:
    """Who got its settings from where."""
    return (
        f"Every setting of every grid was run for {trial.rounds:,} clean rounds of each contest, {trial.seeds} seeds "
        "that are not used again; the lowest mean regret was taken. So a peer explores as little as honest data allow, "
        "and another point of its grid may lose less under attack. Holdfast is not tuned to a contest: its constants "
        "are the same everywhere, chosen once on the regret table of `make bench`, which has attackers, and catalogues "
        "and fresh contexts from the same seeds; `auto` is told the length, `insured` the budget."
    )


def report(trial: Trial, choices: Choices) -> Iterator[str]:
    """What was tried, and what won where."""
    yield f"{told(trial)}\n"
    for name, entry in roster().entries.items():
        yield f"- {name}: {len(entry.grid)} settings: {'; '.join(_ranges(entry.grid))}"
    yield ""
    rows = [
        [name, contest, described(choice.setting), f"{choice.best:.0f}", f"{choice.worst:.0f}"]
        for (contest, name), choice in choices.items()
    ]
    yield table(["learner", "contest", "chosen", "its clean regret", "the worst setting's"], sorted(rows))


def _ranges(grid: tuple[Setting, ...]) -> Iterator[str]:
    """Each parameter with the values it took; where they hang on an exploration, for each of those."""
    kinds = dict.fromkeys(str(point["exploration"]) for point in grid if "exploration" in point)
    for kind in kinds or [""]:
        points = [point for point in grid if not kind or point["exploration"] == kind]
        names = [name for name in points[0] if name != "exploration"]
        values = (f"{name} {', '.join(dict.fromkeys(str(p[name]) for p in points))}" for name in names)
        yield f"{kind} ".lstrip() + " × ".join(values)
