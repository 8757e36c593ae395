"""PEERS.md and the peers' part of the README, from what the sections printed."""

import datetime
import os
import platform
import re
from importlib.metadata import version

from tests.benchmarks.peers.regret import SUMMARY_TITLE
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.record import README, ROOT

RECORD = ROOT / "PEERS.md"
SUMMARY = re.compile(r"(<!-- peers:summary -->\n).*?(<!-- /peers:summary -->)", re.DOTALL)


def write(sections: dict[str, str], commit: str, seconds: float) -> None:
    """Replace both documents' figures with these, measured at this commit."""
    body = "\n\n".join(f"## {name}\n\n{text}" for name, text in sections.items())
    provenance = _provenance(commit, seconds)
    RECORD.write_text(f"# Beside the peers\n\n{provenance}\n\n{body}\n", encoding="utf-8")
    show()


def show() -> None:
    """Put the summary of what is recorded into the README."""
    text = README.read_text(encoding="utf-8")
    summary = summary_of(RECORD.read_text(encoding="utf-8"))
    README.write_text(SUMMARY.sub(lambda m: m[1] + summary + "\n" + m[2], text), encoding="utf-8")


def summary_of(text: str) -> str:
    """Where and when, the table below the summary's title, and every line that has a target, met or not."""
    provenance = text.split("\n\n", 2)[1]
    table = text.split(SUMMARY_TITLE, 1)[1].strip().split("\n\n", 1)[0]
    targets = [line for line in text.splitlines() if re.search(r"\(.*: (yes|NO)\)$", line)]
    lost = text.split("Rows where a peer beats insured Holdfast", 1)[1].split("\n\n", 2)[1]
    listed = "\n".join(f"- {line}" for line in targets)
    won = f"Rows that a peer wins against insured Holdfast:\n\n{lost}"
    return f"{provenance}\n\n{SUMMARY_TITLE}\n\n{table}\n\n{listed}\n\n{won}"


def _provenance(commit: str, seconds: float) -> str:
    numbers = roster().versions | {"rlberry-scool": version("rlberry-scool")}
    versions = ", ".join(f"{name} {number}" for name, number in numbers.items())
    return (
        f"Written by `make bench-peers-record` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} at commit {commit}, "
        f"in {seconds / 60:.0f} minutes on {os.cpu_count()} cores, Python {platform.python_version()}; {versions}."
    )
