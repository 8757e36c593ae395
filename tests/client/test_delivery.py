"""Nothing is lost and nothing is doubled, and the harness that says so would notice."""

from pathlib import Path
from typing import Any

import pytest

from holdfast_client import wire
from holdfast_client.simulator.network import Fault
from tests.client import delivery
from tests.databases import fresh_url


def test_every_decision_and_reward_is_on_the_server_once_in_spite_of_the_network_and_a_kill(tmp_path: Path) -> None:
    report = delivery.run(fresh_url("sqlite", tmp_path), count=300, seed=7)
    assert (report.decisions, report.rewards) == (300, 300)
    assert set(report.faults) == set(Fault)
    assert report.is_clean(), report


def test_a_client_without_idempotency_keys_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keyless(path: str, read: Any, content: bytes, key: str | None, is_decision: bool = False) -> Any:
        return wire.Call("POST", path, read, content, wire.JSON, is_decision=is_decision)

    monkeypatch.setattr(wire, "_keyed", keyless)
    assert delivery.run(fresh_url("sqlite", tmp_path), count=120, seed=7).doubled > 0


def test_a_client_that_names_a_decision_anew_on_every_attempt_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless(learner: str, question: dict[str, Any]) -> Any:
        unnamed = {name: value for name, value in question.items() if name != "decision_id"}
        return named(learner, unnamed)

    named = wire.decide
    monkeypatch.setattr(wire, "decide", nameless)
    assert delivery.run(fresh_url("sqlite", tmp_path), count=120, seed=7).invented > 0
