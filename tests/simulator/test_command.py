"""`holdfast simulate`, as a person types it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast_client.simulator import command
from tests.acceptance.server import Server


def _simulate(*words: str) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "holdfast_client.cli", "simulate", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_list_has_a_line_for_every_scenario() -> None:
    done = _simulate("list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == list(command.EVERY)


def test_run_prints_a_table_and_writes_a_page(
    live_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "cold-item", "--url", str(live_server.http.base_url), "--rounds", "60", "--seed", "3"]
    assert command.main([*words, "--report", str(tmp_path)]) == 0
    [facts] = json.loads((tmp_path / "report.json").read_text())["learner"]
    assert f"{facts['regret']:.4f}" in capsys.readouterr().out
    assert (tmp_path / "report.html").exists()
    assert facts["violations"] == []


def test_compare_takes_any_two_configurations_and_several_seeds(
    live_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "catalogue-flip", "--url", str(live_server.http.base_url), "--rounds", "40", "--seeds", "2"]
    assert command.main(words) == 0
    assert "uninsured" in capsys.readouterr().out
    left, right = '{"corruption": {"budget": 5}}', '{"function": {"kind": "quadratic"}}'
    assert command.main([*words, "--left", left, "--right", right]) == 0
    assert "left" in capsys.readouterr().out


def test_the_demo_starts_its_own_service_and_its_exit_code_is_its_verdict(tmp_path: Path) -> None:
    """So short that insurance has not paid off yet; `make demo` is the whole of it."""
    done = _simulate("demo", "--rounds", "400", "--seeds", "1", "--report", str(tmp_path))
    ratio = re.search(r"Insured lost \d+, uninsured \d+: ×(\d+\.\d+)", done.stdout)
    assert ratio is not None, done.stderr
    assert done.returncode == int(float(ratio[1]) > command.DEMO_RATIO_MAX)
    assert (tmp_path / "regret.svg").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nothing"], "no such scenario"),
        (["run", "cold-item", "--rounds", "0"], "whole number"),
        (["run", "swim-decoy", "--duration", "1"], "single decisions"),
        (["run", "cold-item", "--settings", "[]"], "JSON object"),
        (["run", "cold-item", "--url", "ftp://x"], "http://"),
    ],
)
def test_wrong_input_is_one_clear_line_and_exit_code_2(words: list[str], said: str) -> None:
    done = _simulate(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
