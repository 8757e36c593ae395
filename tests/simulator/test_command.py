"""`holdfast simulate`, as a person types it."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast_client.simulator import command
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.load import Measured
from holdfast_client.simulator.replay import Replayed
from holdfast_client.simulator.run import Account, Plan
from holdfast_client.simulator.scenarios import SCENARIOS
from holdfast_client.simulator.settings import environment_of_own_service
from holdfast_client.simulator.soak import Soaked
from holdfast_client.simulator.workers import Load, Told
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


def test_whatever_the_auditor_found_is_exit_code_1(
    live_server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The service is sound; what was found is put there."""
    lost = [Violation("lost", "reward of d-1")]
    account = Account(Plan(SCENARIOS["cold-item"], 1), [0.5], [0.0], violations=lost)
    measured = Measured(Load("cold-item", 1.0), [Told([0.0], [0.1], 1, 1, seconds=1.0, violations=lost)])
    monkeypatch.setattr(command, "run", lambda *rest: account)
    monkeypatch.setattr(command, "put_on", lambda *rest: measured)
    monkeypatch.setattr(command.soaking, "soak", lambda *rest: Soaked(1.0, measured))
    monkeypatch.setattr(command.replay, "replay", lambda *rest: Replayed(1, 0.0, violations=lost))
    past, url = tmp_path / "log.csv", ["--url", str(live_server.http.base_url)]
    past.write_text("action,reward\na,1\n", encoding="utf-8")
    load = ["run", "cold-item", "--duration", "1"]
    for words in (["run", "cold-item"], ["compare", "cold-item"], load, ["soak"], ["replay", str(past)]):
        assert command.main([*words, *url]) == 1


def test_a_simulator_that_is_told_to_go_takes_its_service_with_it() -> None:
    line = [sys.executable, "-m", "holdfast_client.cli", "simulate", "run", "catalogue-clean", "--rounds", "1000000"]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (service := children.read_text().split()):
            time.sleep(0.05)
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{service[0]}").exists()


def test_its_own_service_is_not_set_up_like_the_one_of_this_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_HOST", "0.0.0.0")
    monkeypatch.setenv("HOLDFAST_RATE_LIMIT", "1")
    environment = environment_of_own_service()
    assert {name: environment[name] for name in environment if name.startswith("HOLDFAST_")} == {"HOLDFAST_AUTH": "off"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nothing"], "no such scenario"),
        (["run", "cold-item", "--rounds", "0"], "whole number"),
        (["run", "cold-item", "--batch", "1001"], "from 1 to 1,000"),
        (["run", "cold-item", "--seed", "-1"], "from 0"),
        (["run", "cold-item", "--rate", "5"], "needs a --duration"),
        (["run", "cold-item", "--duration", "1", "--rate", "2e6"], "below 1,000,000"),
        (["run", "cold-item", "--report", f"{__file__}/out"], "no folder"),
        (["compare", "cold-item", "--left", '{"name": "x"}'], "name is not a setting"),
        (["replay", "nowhere.csv"], "nowhere.csv"),
        (["run", "cold-item", "--settings", "[]"], "JSON object"),
        (["run", "cold-item", "--url", "ftp://x"], "http://"),
    ],
)
def test_wrong_input_is_one_clear_line_and_exit_code_2(words: list[str], said: str) -> None:
    done = _simulate(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
