"""What a unit of lies costs an insured learner, and what insurance costs when nobody lies."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast_client.simulator.environments import DIMENSION
from tests.benchmarks.peers.contests import SPENT
from tests.benchmarks.peers.ours import INSURED, UNINSURED
from tests.benchmarks.peers.play import Job, Run, play_all
from tests.benchmarks.tables import table, verdict

STRAIGHT_MAX = 0.1  # how far a point may lie from its line, as a share of the regret
SLOPE_MAX = 1.0  # by how much a unit of lies may cost more at 4T than at T, in units of reward
PREMIUM_CONTESTS = ("fixed catalogue", "fresh contexts", "clicks")


class Setting(NamedTuple):
    rounds: int = 4_000  # T; every run goes on to 4T
    seeds: int = 10
    budget: float = 20.0
    shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the budget, spent
    budgets: tuple[float, ...] = (0.0, 5.0, 10.0, 20.0, 40.0)


class Line(NamedTuple):
    """Median regret against what was spent, and the straight line through it."""

    spent: Array
    regret: Array
    slope: float
    deviation: float  # of the worst point, as a share of the regret


class Measured(NamedTuple):
    """Lines by learner, attack and whether it is the end; premiums by contest, a median for each budget."""

    lines: dict[tuple[str, str, str], Line]
    premiums: dict[str, list[float]]


def measure(setting: Setting) -> Measured:
    t, full = setting.rounds, setting.budget
    lines = {}
    for learner in (INSURED, UNINSURED):
        for attack in SPENT:
            groups = [
                _runs([Job(attack, learner, {}, seed, t, full, share * full) for seed in range(setting.seeds)])
                for share in setting.shares
            ]
            spent = np.array([np.median([run.spent for run in runs]) for runs in groups])
            for end, name in (("early", "T"), ("late", "4T")):
                regret = np.array([np.median([getattr(run, end) for run in runs]) for runs in groups])
                lines[learner, attack, name] = fit(spent, regret)
    premiums = {
        contest: [
            float(np.median([run.late for run in _clean(contest, budget, setting)])) for budget in setting.budgets
        ]
        for contest in PREMIUM_CONTESTS
    }
    return Measured(lines, premiums)


def fit(spent: Array, regret: Array) -> Line:
    """Least squares; no line where nothing was spent.

    >>> line = fit(np.array([0.0, 1.0, 2.0]), np.array([10.0, 12.0, 14.0]))
    >>> round(line.slope, 6), round(line.deviation, 6)
    (2.0, 0.0)
    """
    if np.ptp(spent) == 0.0:
        return Line(spent, regret, 0.0, 0.0)
    slope, start = np.polyfit(spent, regret, 1)
    deviation = np.abs(regret - start - slope * spent).max() / max(regret.max(), 1e-9)
    return Line(spent, regret, float(slope), float(deviation))


def _clean(contest: str, budget: float, setting: Setting) -> list[Run]:
    jobs = [Job(contest, INSURED, {}, seed, setting.rounds, budget, 0.0) for seed in range(setting.seeds)]
    return _runs(jobs)


def _runs(jobs: list[Job]) -> list[Run]:
    return next(iter(play_all(jobs).values()))


def report(setting: Setting, measured: Measured) -> Iterator[str]:
    t = setting.rounds
    yield (
        f"Fixed catalogue, T = {t:,}, insured for {setting.budget:g}; the attacker spends a part of that, or all. "
        f"Medians of {setting.seeds} seeds. Slope: units of reward lost for each unit of lies.\n"
    )
    rows = [
        [learner, attack, when, *(f"{r:.0f} ({s:.1f})" for r, s in zip(line.regret, line.spent, strict=True)),
         f"{line.slope:.2f}", f"{line.deviation:.0%}"]
        for (learner, attack, when), line in measured.lines.items()
    ]  # fmt: skip
    spends = [f"up to {share * setting.budget:g}" for share in setting.shares]
    yield table(["learner", "attack", "at", *(f"regret (spent) {s}" for s in spends), "slope", "off the line"], rows)
    yield ""
    for attack in SPENT:
        early, late = (measured.lines[INSURED, attack, when] for when in ("T", "4T"))
        change, off = late.slope - early.slope, max(early.deviation, late.deviation)
        told = f"{attack}: a unit of lies costs {early.slope:.2f} at T and {late.slope:.2f} at 4T"
        yield f"{told} {verdict('at most 1 more', change <= SLOPE_MAX)}"
        yield f"{attack}: no point is further than {off:.0%} from its line {verdict('≤ 10 %', off <= STRAIGHT_MAX)}"
    yield f"\nThe premium: Holdfast's regret at 4T when nobody lies, by what it is insured for (d {DIMENSION}):\n"
    header = ["contest", *(f"insured for {budget:g}" for budget in setting.budgets)]
    yield table(header, [[c, *(f"{regret:.0f}" for regret in medians)] for c, medians in measured.premiums.items()])
