"""What a run says: a line while it goes on; a table, a JSON file and one page with pictures at its end."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from holdfast_client.simulator.auditor import VIOLATIONS_SHOWN_MAX
from holdfast_client.simulator.pictures import Line, curves, histogram
from holdfast_client.simulator.problems import Array
from holdfast_client.simulator.run import Account
from holdfast_client.version import __version__

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
CURVE_POINTS = 200
WEIGHT_WINDOWS = 60
STYLE = (
    "body{font:15px sans-serif;max-width:90ch;margin:2em auto;padding:0 1em}td,th{padding:.2em .8em;text-align:left}"
)

Rows = Sequence[Sequence[str]]


@dataclass
class Ticker:
    """The line that is written over while a run goes on; on anything but a terminal, a new line now and then."""

    name: str
    out: TextIO = sys.stderr
    _last: float = field(default_factory=time.monotonic)

    def __call__(self, account: Account) -> None:
        done, all_ = len(account.regret), account.plan.rounds
        if time.monotonic() - self._last < (0.1 if self.out.isatty() else 5.0) and done < all_:
            return
        self._last = time.monotonic()
        bar = "#" * (20 * done // all_)
        said = (
            f"{self.name} [{bar:<20}] {done:,}/{all_:,}  regret {account.regret[-1]:.1f}  "
            f"spent {account.spent[-1]:.1f}  p99 {account.latency_ms(0.99):.0f} ms"
        )
        self.out.write(f"\r{said}\x1b[K" if self.out.isatty() else f"{said}\n")
        if self.out.isatty() and done >= all_:  # a last session may go beyond the rounds
            self.out.write("\n")
        self.out.flush()


def table(rows: Rows) -> str:
    """Plain columns; the first row is the header.

    >>> print(table([["a", "b"], ["10", "2"]]))
    a   b
    10  2
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def summary(groups: Mapping[str, Sequence[Account]]) -> Rows:
    """A row for each configuration; medians where there are several seeds."""
    header = ["learner", "rounds", "regret", "spent", "budget", "weight", "p50 ms", "p99 ms", "violations"]
    return [header, *(_row(name, accounts) for name, accounts in groups.items())]


def _row(name: str, accounts: Sequence[Account]) -> list[str]:
    regret, spent = (float(np.median([getattr(a, what)[-1] for a in accounts])) for what in ("regret", "spent"))
    weight = float(np.mean([weight for account in accounts for weight in account.weights] or [0.0]))
    p50, p99 = (float(np.median([a.latency_ms(q) for a in accounts])) for q in (0.5, 0.99))
    plan, violations = accounts[0].plan, sum(len(a.violations) for a in accounts)
    told = [f"{regret:.4f}", f"{spent:.2f}", f"{plan.scenario.budget:g}", f"{weight:.3f}"]
    return [name, f"{plan.rounds:,}", *told, f"{p50:.1f}", f"{p99:.1f}", str(violations)]


def facts(account: Account) -> dict[str, Any]:
    """One run as JSON."""
    plan = account.plan
    places = np.unique(np.linspace(0, len(account.regret) - 1, CURVE_POINTS).astype(int)).tolist()
    return {
        "scenario": plan.scenario.id, "seed": plan.seed, "rounds": plan.rounds, "batch": plan.batch,
        "settings": dict(plan.settings), "is_insured": plan.is_insured, "budget": plan.scenario.budget,
        "regret": account.regret[-1], "spent": account.spent[-1], "counts": account.counts,
        "latency_ms": {name: account.latency_ms(q) for name, q in QUANTILES.items()},
        "seconds": account.seconds,
        "violations": [violation._asdict() for violation in account.violations],
        "curves": {
            "round": [place + 1 for place in places],
            "regret": [account.regret[place] for place in places],
            "spent": [account.spent[place] for place in places],
        },
        "weights": _windows(account)[1].tolist(),
    }  # fmt: skip


def _windows(account: Account) -> tuple[Array, Array]:
    """Mean weights over time."""
    if not account.weights:
        return np.zeros(1), np.zeros(1)
    parts = np.array_split(np.array(account.weights), min(WEIGHT_WINDOWS, len(account.weights)))
    ends = np.cumsum([len(part) for part in parts]).astype(np.float64)
    return ends, np.array([part.mean() for part in parts])


def pictures(groups: Mapping[str, Sequence[Account]]) -> dict[str, str]:
    """Regret with bands, what was spent, weights over time, and how long calls took."""
    regret = [_spread(name, [a.curve() for a in accounts]) for name, accounts in groups.items()]
    spent = [_spread(name, [np.array(a.spent) for a in accounts]) for name, accounts in groups.items()]
    weights = [Line(name, *_windows(accounts[0])) for name, accounts in groups.items()]
    latencies = np.concatenate([np.array(a.latencies_s) * 1e3 for accounts in groups.values() for a in accounts])
    return {
        "regret": curves("Reward lost so far", regret, "rounds", "regret"),
        "spent": curves("Corruption spent so far", spent, "rounds", "units of reward"),
        "weights": curves("Mean weight of a reward", weights, "rewards learned", "weight"),
        "latency": histogram("How long calls took", latencies, "ms"),
    }


def _spread(name: str, runs: list[Array]) -> Line:
    shortest = min(len(run) for run in runs)  # the last episode of a session may go beyond the rounds
    stacked = np.stack([run[:shortest] for run in runs])
    x = np.arange(1.0, stacked.shape[1] + 1.0)
    edges = (stacked.min(axis=0), stacked.max(axis=0)) if len(runs) > 1 else (None, None)
    return Line(name, x, np.median(stacked, axis=0), *edges)


def write(folder: Path, title: str, rows: Rows, data: Any, drawn: Mapping[str, str], notes: Sequence[str] = ()) -> Path:
    """The page, the JSON beside it, and each picture as a file of its own; the place of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
    for name, picture in drawn.items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    page = folder / "report.html"
    page.write_text(_page(title, rows, drawn, notes), encoding="utf-8")
    return page


def _page(title: str, rows: Rows, drawn: Mapping[str, str], notes: Sequence[str]) -> str:
    header, *body = rows
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body]
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>',
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        "<table><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in header) + "</tr>",
        *(f"<tr>{row}</tr>" for row in cells),
        "</table>",
        *drawn.values(),
        f"<p>holdfast {__version__}</p></html>",
    ]
    return "\n".join(parts)


def broken(accounts: Sequence[Account]) -> list[str]:
    """What the auditor found, one line each, the first of them."""
    found = [violation for account in accounts for violation in account.violations]
    said = [f"VIOLATION {violation.kind}: {violation.what}" for violation in found[:VIOLATIONS_SHOWN_MAX]]
    return said + ([f"and {len(found) - len(said)} more"] if len(found) > len(said) else [])
