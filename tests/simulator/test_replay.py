"""Recorded traffic in every format becomes the same rows, and a learner is judged on it."""

import csv
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast_client.simulator import command, traces
from holdfast_client.simulator.replay import Replayed, features_of, replay
from holdfast_client.simulator.traces import Row, Unreadable
from tests.acceptance.server import Server

ROOT = Path(__file__).parent.parent.parent
ARMS = {"news": 0.2, "opera": 0.8}


def _past(count: int) -> list[dict[str, Any]]:
    """A site that showed one of two things at random, for which one of them was much better."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(count):
        action = str(rng.choice(list(ARMS)))
        reward = float(rng.random() < ARMS[action])
        rows.append({"hour": 3.0, "device": "phone", "action": action, "reward": reward, "probability": 0.5})
    return rows


def _as_dsjson(row: dict[str, Any], names: list[str]) -> dict[str, Any]:
    order = [names.index(row["action"]) + 1, *(i + 1 for i, name in enumerate(names) if name != row["action"])]
    several = [{"_tag": name, "i": {"constant": 1, "id": name}, "j": [{"topic": name}]} for name in names]
    return {
        "_label_cost": -row["reward"], "_label_probability": row["probability"], "EventId": "e", "a": order,
        "c": {"FromUrl": [{"device": row["device"]}], "_multi": several}, "p": [0.5, 0.5], "VWState": {"m": "x"},
    }  # fmt: skip


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path
    said = rows
    if path.suffix == ".jsonl":
        said = [
            {"context": {"device": r["device"]}, "actions": list(ARMS), "action_id": r["action"], "value": r["reward"]}
            | {"probability": r["probability"]}
            for r in rows
        ]
    elif path.suffix == ".dsjson":
        said = [{"RewardValue": 1.0, "EventId": "dangling"}, *(_as_dsjson(row, list(ARMS)) for row in rows)]
    path.write_text("\n".join(json.dumps(one) for one in said), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".dsjson"])
def test_every_format_tells_the_same_story(suffix: str, tmp_path: Path) -> None:
    past = _past(40)
    rows = traces.read(_write(tmp_path / f"log{suffix}", past))
    assert [(row.chosen, row.value, row.probability) for row in rows] == [
        (told["action"], told["reward"], told["probability"]) for told in past
    ]
    assert all({action["id"] for action in row.actions} == set(ARMS) for row in rows)


def test_dsjson_keeps_namespaces_and_leaves_out_what_is_not_a_feature(tmp_path: Path) -> None:
    [row] = traces.read(_write(tmp_path / "log.dsjson", _past(1)))
    assert row.context == {"FromUrl": {"device": "phone"}}
    assert row.actions[0]["features"] == {"i": {"constant": 1, "id": "news"}, "j": {"topic": "news"}}


@pytest.mark.parametrize("suffix", [".csv", ".dsjson"])
def test_a_learner_finds_the_better_action_in_the_past(live_server: Server, suffix: str, tmp_path: Path) -> None:
    rows = traces.read(_write(tmp_path / f"log{suffix}", _past(400)))
    replayed = replay(str(live_server.http.base_url), rows, {"corruption": {"budget": 0}}, batch=20)
    assert replayed.violations == []
    assert replayed.logged == pytest.approx(0.5, abs=0.1)
    assert np.mean(replayed.agreed) > 0.65
    weighted = np.dot(replayed.agreed, replayed.inverse) / replayed.rows
    assert weighted > replayed.logged


def test_the_example_of_a_log_with_propensities_can_be_replayed(live_server: Server) -> None:
    rows = traces.read(ROOT / "examples" / "logged.csv")
    replayed = replay(str(live_server.http.base_url), rows, {"features": {"kind": "json", "dimension": 64}}, batch=50)
    assert replayed.rows == 600
    assert replayed.has_probabilities
    assert replayed.violations == []


def test_vectors_get_a_learner_of_vectors() -> None:
    row = Row([0.1, 0.2], [{"id": "a", "features": [0.3]}], "a", 1.0)
    assert features_of([row]) == {"kind": "dense", "context": 2, "action": 1, "joint": "concat"}


def test_the_command_prints_both_estimates(
    live_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path / "log.jsonl", _past(60))
    assert command.main(["replay", str(path), "--url", str(live_server.http.base_url)]) == 0
    said = capsys.readouterr().out
    assert "where both agree" in said
    assert "inverse propensity" in said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.txt", "", "ends with"),
        ("log.csv", "a,b\n1,2\n", "`action` and `reward`"),
        ("log.csv", "action,reward\nx,high\n", "row 1"),
        ("log.jsonl", "{}\n", "no row"),
        ("log.jsonl", "not json\n", "row 1"),
        ("log.jsonl", '{"actions": ["a"]}\n', "row 1"),
        ("log.dsjson", '{"_label_cost": 0, "a": [9], "c": {"_multi": [{}]}}\n', "row 1"),
        ("log.dsjson", '{"_label_cost": 0, "a": [0], "c": {"_multi": [{}, {}]}}\n', "row 1: .*'number 0'"),
        ("log.dsjson", '{"_label_cost": 0, "a": [1], "c": {"x": 1}}\n', "row 1: there is no '_multi'"),
        ("log.csv", "action,reward\na,1\nb\n", "row 2: the reward must be a finite number"),
        ("log.csv", "action,reward\na,nan\n", "row 1: the reward must be a finite number"),
        ("log.csv", "action,reward\na,1\n,1\n", "row 2: .* not among the candidates"),
        ("log.csv", "action,reward,actions\na,1,b|c\n", "row 1: .* not among the candidates"),
        ("log.csv", "action,reward,probability\na,1,0\n", "row 1: the probability"),
        ("log.csv", "action,reward,probability\na,1,1.5\n", "row 1: the probability"),
        ("log.csv", f"action,reward,x\na,1,{'y' * 200_000}\n", "not a table"),
        ("log.csv", b"action,reward\ncaf\xe9,1\n", "UTF-8"),
        ("log.jsonl", '{"actions": [], "action_id": "a", "value": 1}\n', "row 1"),
        ("log.jsonl", '{"actions": [1, 2], "action_id": 1, "value": 1}\n', "row 1"),
        ("log.jsonl", "[" * 100_000 + "\n", "row 1"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(name: str, content: str | bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(Unreadable, match=said):
        traces.read(path)


def test_a_table_from_a_spreadsheet_can_have_a_mark_in_front_and_gaps(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("\ufeffaction,reward,age,city\na,1,,nan\n", encoding="utf-8")
    [row] = traces.read(path)
    assert row == Row({"city": "nan"}, [{"id": "a", "features": {"name": "a"}}], "a", 1.0)


def test_inverse_propensity_weighs_an_agreement_by_how_rare_it_was_among_all_rows() -> None:
    """Two agreements in four rows, of 1 shown with probability ¼ and 0.5 shown with ½: (4 + 1) / 4, and 5 / (4 + 2)."""
    said = Replayed(4, 0.3, [1.0, 0.5], [4.0, 2.0], has_probabilities=True).lines()
    assert said[-2].startswith("by inverse propensity: 1.2500 ± 0.8")
    assert said[-1] == "self-normalised: 0.8333"


def test_an_estimate_without_any_spread_has_no_error() -> None:
    assert Replayed(3, 0.1, [0.1] * 3, [1.0] * 3, has_probabilities=True).lines()[-2].endswith("0.1000 ± 0.0000")


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="pyarrow is here")
def test_parquet_without_pyarrow_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="pyarrow"):
        traces.read(tmp_path / "log.parquet")
