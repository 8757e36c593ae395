"""What is written can be read: the page is whole by itself, and the figures are those of the run."""

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from holdfast_client.simulator import report
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.pictures import Line, curves, histogram
from holdfast_client.simulator.run import Account, Plan
from holdfast_client.simulator.scenarios import SCENARIOS


def _account(seed: int = 0) -> Account:
    rng = np.random.default_rng(seed)
    account = Account(Plan(SCENARIOS["cold-item"], rounds=400, seed=seed))
    account.regret = np.cumsum(rng.random(400)).tolist()
    account.spent = np.minimum(np.arange(400) / 10, 10.0).tolist()
    account.weights, account.latencies_s = rng.random(400).tolist(), rng.random(40).tolist()
    return account


def test_the_page_needs_no_other_file_and_has_every_picture(tmp_path: Path) -> None:
    groups = {"uninsured": [_account(1), _account(2)], "insured <b>": [_account(3), _account(4)]}
    data = {name: [report.facts(account) for account in group] for name, group in groups.items()}
    page = report.write(tmp_path / "new", "A title", report.summary(groups), data, report.pictures(groups))
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 4
    assert "insured &lt;b&gt;" in text
    assert not any(word in text for word in ("src=", "href=", "<script", "@import"))
    assert (
        json.loads((page.parent / "report.json").read_text())["uninsured"][0]["regret"]
        == groups["uninsured"][0].regret[-1]
    )


def test_every_picture_is_well_formed_and_has_its_bands() -> None:
    pictures = report.pictures({"a": [_account(1), _account(2)], "b": [_account(3), _account(4)]})
    for picture in pictures.values():
        ET.fromstring(picture)
    assert pictures["regret"].count("<polygon") == 2
    assert pictures["regret"].count("<polyline") == 2


def test_runs_whose_last_episodes_differ_in_length_can_be_drawn_together() -> None:
    longer = _account(2)
    longer.regret.append(longer.regret[-1] + 1.0)
    longer.spent.append(longer.spent[-1])
    ET.fromstring(report.pictures({"a": [_account(1), longer]})["regret"])


def test_a_curve_of_nothing_and_a_histogram_of_one_value_can_be_drawn() -> None:
    ET.fromstring(curves("t", [Line("flat", np.zeros(1), np.zeros(1))], "x", "y"))
    ET.fromstring(histogram("t", np.zeros(3), "ms"))


def test_the_ticker_tells_regret_spend_and_latency() -> None:
    out = io.StringIO()
    report.Ticker("insured", out)(_account())
    assert all(word in out.getvalue() for word in ("400/400", "regret", "spent 10.0", "p99"))


def test_a_session_that_goes_beyond_the_rounds_ends_the_line_too() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    account, out = _account(), Terminal()
    account.regret.append(account.regret[-1])
    report.Ticker("insured", out)(account)
    assert out.getvalue().endswith("\n")


def test_violations_are_shown_the_first_of_them() -> None:
    account = _account()
    account.violations = [Violation("lost", f"reward of d-{i}") for i in range(50)]
    said = report.broken([account])
    assert said[0] == "VIOLATION lost: reward of d-0"
    assert said[-1] == "and 30 more"
