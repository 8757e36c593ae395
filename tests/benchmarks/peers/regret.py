"""Regret under attack: everyone on the same six contests, at T and 4T, and what the table must show."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tests.benchmarks.peers import tuning
from tests.benchmarks.peers.contests import CONTESTS, FLAT, HALF, LOWEST
from tests.benchmarks.peers.ours import HOLDFAST, INSURED
from tests.benchmarks.peers.play import Job, Run, play_all
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.tables import table, verdict

SUMMARY_TITLE = "Median regret at 4T under attack; the lowest of each row in bold:"
GROWTH_MAX, SHARE_MAX = 1.5, 0.5


class Setting(NamedTuple):
    """How long, how often, and how much is spent; a contest may say it needs more or less of each."""

    rounds: int = 3_000  # T; every run goes on to 4T
    seeds: int = 10
    budget: float = 10.0
    trial: tuning.Trial = tuning.Trial()


Results = dict[tuple[str, str], list[Run]]
"""By contest and learner."""


def jobs(setting: Setting, choices: tuning.Choices) -> list[Job]:
    listed = []
    for name, contest in CONTESTS.items():
        rounds, budget = int(setting.rounds * contest.length), setting.budget * contest.budget
        for learner in [*HOLDFAST, *roster().entries]:
            settings = choices[name, learner].setting if (name, learner) in choices else {}
            listed += [Job(name, learner, settings, seed, rounds, budget, budget) for seed in range(setting.seeds)]
    return listed


def measure(setting: Setting, choices: tuning.Choices) -> Results:
    return {(contest, learner): runs for (contest, learner, _), runs in play_all(jobs(setting, choices)).items()}


def report(setting: Setting, choices: tuning.Choices, results: Results) -> Iterator[str]:
    yield (
        f"Ten candidates a round, {setting.seeds} seeds. Everyone sees the same rows, honest rewards and attacker; the "
        "attacker sees the choice and spends up to the budget, and insured Holdfast is insured for exactly that.\n"
    )
    yield table(["contest", "what happens", "T", "budget"], [_contest(name, setting) for name in CONTESTS])
    yield f"\n{SUMMARY_TITLE}\n"
    yield summary_table(results)
    yield "\nAll of it:\n"
    header = ["contest", "learner", "median T", "p90 T", "median 4T", "p90 4T", "growth", "spent"]
    yield table(header, [_row(*cell, runs) for cell, runs in results.items()])
    yield ""
    yield from must_show(results)
    yield ""
    yield from tuning.report(setting.trial, choices)


def median_late(runs: list[Run]) -> float:
    return float(np.median([run.late for run in runs]))


def growth(runs: list[Run]) -> float:
    return median_late(runs) / max(float(np.median([run.early for run in runs])), 1e-9)


def peers(results: Results, contest: str) -> dict[str, float]:
    """Median regret at 4T of everyone who is not Holdfast."""
    return {name: median_late(runs) for (c, name), runs in results.items() if c == contest and name not in HOLDFAST}


def summary_table(results: Results) -> str:
    """A row for each contest, a column for each learner."""
    learners = list(dict.fromkeys(learner for _, learner in results))
    rows = []
    for contest in dict.fromkeys(contest for contest, _ in results):
        medians = [median_late(results[contest, learner]) for learner in learners]
        best = int(np.argmin(medians))
        rows.append([contest, *(f"**{m:.0f}**" if i == best else f"{m:.0f}" for i, m in enumerate(medians))])
    return table(["contest", *learners], rows)


def must_show(results: Results) -> Iterator[str]:
    """Each target with its figure; then the rows that somebody else wins."""
    for name, contest in CONTESTS.items():
        ours, others = median_late(results[name, INSURED]), peers(results, name)
        everyone = {learner: median_late(runs) for (c, learner), runs in results.items() if c == name}
        best = min(others, key=lambda learner: others[learner])
        if LOWEST in contest.must:
            lowest = min(everyone, key=lambda learner: everyone[learner])
            told = f"{name}: the lowest median at 4T has {lowest} ({everyone[lowest]:.0f}; insured Holdfast {ours:.0f})"
            yield f"{told} {verdict('insured Holdfast', lowest == INSURED)}"
        if HALF in contest.must:
            share = ours / max(others[best], 1e-9)
            told = f"{name}: insured Holdfast has ×{share:.2f} the regret of the best peer ({best}, {others[best]:.0f})"
            yield f"{told} {verdict('≤ 0.5', share <= SHARE_MAX)}"
        if FLAT in contest.must:
            grown = growth(results[name, INSURED])
            yield f"{name}: insured Holdfast grows ×{grown:.2f} from T to 4T {verdict('≤ 1.5', grown <= GROWTH_MAX)}"
    yield "\nRows where a peer beats insured Holdfast (median at 4T):\n"
    yield "\n".join(_lost(results)) or "- none"


def _lost(results: Results) -> Iterator[str]:
    for name in dict.fromkeys(contest for contest, _ in results):
        ours = median_late(results[name, INSURED])
        better = {learner: late for learner, late in peers(results, name).items() if late < ours}
        if better:
            told = ", ".join(f"{learner} {late:.0f}" for learner, late in sorted(better.items(), key=lambda b: b[1]))
            yield f"- {name}: insured Holdfast {ours:.0f}; {told}"


def _contest(name: str, setting: Setting) -> list[object]:
    contest = CONTESTS[name]
    rounds, budget = int(setting.rounds * contest.length), setting.budget * contest.budget
    return [name, contest.scenario.about, f"{rounds:,}", f"{budget:g}"]


def _row(contest: str, learner: str, runs: list[Run]) -> list[object]:
    early, late = np.array([run.early for run in runs]), np.array([run.late for run in runs])
    spent = float(np.median([run.spent for run in runs]))
    figures = [np.median(early), np.quantile(early, 0.9), np.median(late), np.quantile(late, 0.9)]
    return [contest, learner, *(f"{figure:.0f}" for figure in figures), f"×{growth(runs):.2f}", f"{spent:.1f}"]
