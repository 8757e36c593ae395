"""BENCHMARKS.md and the summary in the README, from what the sections printed."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

import numpy as np

from tests.benchmarks.regret import SUMMARY_TITLE

ROOT = Path(__file__).parent.parent.parent
RECORD = ROOT / "BENCHMARKS.md"
README = ROOT / "README.md"
SUMMARY = re.compile(r"(<!-- bench:summary -->\n).*?(<!-- /bench:summary -->)", re.DOTALL)


def write(sections: dict[str, str], commit: str) -> None:
    """Replace both documents' figures with these, measured at this commit."""
    body = "\n\n".join(f"## {name}\n\n{text}" for name, text in sections.items())
    RECORD.write_text(f"# Benchmarks\n\n{_provenance(commit)}\n\n{body}\n", encoding="utf-8")
    summary = summary_of(body)
    text = README.read_text(encoding="utf-8")
    README.write_text(SUMMARY.sub(lambda m: m[1] + summary + "\n" + m[2], text), encoding="utf-8")


def summary_of(text: str) -> str:
    """The table below the summary's title."""
    return text.split(SUMMARY_TITLE, 1)[1].strip().split("\n\n", 1)[0]


def checked_out() -> str:
    """The commit that is being measured, and whether anything was changed since."""
    commit, changes = (
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain"])
    )
    return f"{commit} with uncommitted changes" if changes else commit


def _provenance(commit: str) -> str:
    return (
        f"Written by `make bench-record` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d} at commit {commit}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, {os.cpu_count()} cores. "
        "Regret is the same to the digit on the same machine; times are medians of interleaved blocks on a noisy one."
    )
