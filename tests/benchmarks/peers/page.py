"""One page, in one file: regret with bands for each contest, what a unit of lies costs, what insurance costs."""

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import numpy as np

from holdfast_client.simulator.pictures import COLOURS, Line, curves
from holdfast_client.simulator.report import STYLE
from tests.benchmarks.peers import regret, spending
from tests.benchmarks.peers.contests import CONTESTS, SPENT
from tests.benchmarks.peers.ours import INSURED, UNINSURED


def write(
    folder: Path,
    said: Mapping[str, str],
    results: regret.Results | None,
    spent: spending.Measured | None,
    settings: tuple[regret.Setting, spending.Setting],
) -> Path:
    """What was printed, section by section, and the pictures of what was measured."""
    folder.mkdir(parents=True, exist_ok=True)
    title = "Holdfast beside its peers"
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}'
        "pre{overflow-x:auto}ul{columns:3;list-style:none;padding:0}</style>",
        f"<h1>{title}</h1>",
        *(_regret_pictures(results, settings[0]) if results else ()),
        *(_spending_pictures(spent, settings[1]) if spent else ()),
        *(f"<h2>{escape(name)}</h2><pre>{escape(text)}</pre>" for name, text in said.items()),
        "</html>",
    ]
    page = folder / "report.html"
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def _regret_pictures(results: regret.Results, setting: regret.Setting) -> Iterator[str]:
    yield "<h2>Regret under attack</h2><p>Medians; the bands hold eight of ten seeds.</p>"
    learners = list(dict.fromkeys(learner for _, learner in results))
    yield _legend(learners)
    for name, contest in CONTESTS.items():
        rounds = 4 * int(setting.rounds * contest.length)
        lines = []
        for learner in learners:
            stacked = np.stack([run.curve for run in results[name, learner]])
            low, middle, high = np.quantile(stacked, (0.1, 0.5, 0.9), axis=0)
            lines.append(Line(learner, np.linspace(1.0, rounds, stacked.shape[1]), middle, low, high))
        yield curves(f"{name}: {contest.scenario.about}", lines, "rounds", "regret", has_legend=False)


def _spending_pictures(spent: spending.Measured, setting: spending.Setting) -> Iterator[str]:
    yield "<h2>Regret against spend</h2>"
    yield _legend([f"{learner}, {when}" for learner in (INSURED, UNINSURED) for when in ("T", "4T")])
    for attack in SPENT:
        drawn = [spent.lines[learner, attack, when] for learner in (INSURED, UNINSURED) for when in ("T", "4T")]
        lines = [Line("", line.spent, line.regret) for line in drawn]
        yield curves(f"{attack}, up to what is insured", lines, "units of lies", "regret", has_legend=False)
    yield "<h2>Premium against budget</h2>"
    yield _legend(list(spent.premiums))
    budgets = np.array(setting.budgets)
    lines = [Line(contest, budgets, np.array(medians)) for contest, medians in spent.premiums.items()]
    yield curves("What insurance costs when nobody lies", lines, "insured for", "regret at 4T", has_legend=False)


def _legend(names: list[str]) -> str:
    items = (
        f'<li><b style="color:{colour}">—</b> {escape(name)}</li>' for name, colour in zip(names, COLOURS, strict=False)
    )
    return f"<ul>{''.join(items)}</ul>"
