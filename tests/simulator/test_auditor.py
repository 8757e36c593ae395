"""The auditor is content with a good service and catches every broken one."""

from pathlib import Path
from typing import Any

import pytest

from holdfast_client import Decision, Diagnostics, LogEvent, RewardResult
from holdfast_client.models import Chosen, DecisionRecord, RewardRecord
from holdfast_client.simulator.auditor import Auditor
from holdfast_client.simulator.run import Plan, run
from holdfast_client.simulator.scenarios import SCENARIOS
from tests.acceptance.server import serving
from tests.databases import fresh_url
from tests.simulator.mutants import MUTANTS

CLAIM: Any = {"decision_id": "d-1", "value": 0.5, "source": "user-1"}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_service_is_caught(mutant: str, tmp_path: Path) -> None:
    prelude = f"from tests.simulator import mutants; mutants.{mutant}()"
    with serving(fresh_url("sqlite", tmp_path), prelude=prelude) as server:
        account = run(str(server.http.base_url), Plan(SCENARIOS["clicks-farm"], 1_050, batch=50))
    assert MUTANTS[mutant] & {violation.kind for violation in account.violations}


def _audited() -> Auditor:
    """One decision and one reward, both acknowledged."""
    auditor = Auditor(is_insured=True)
    auditor.ask(["d-1"])
    auditor.decided([Decision("d-1", "home", Chosen("a", 0), 1)])
    auditor.claim([CLAIM])
    auditor.rewarded([CLAIM], [RewardResult("d-1", "learned", 0.7, 2)])
    return auditor


def _decision(position: int = 1, name: str = "d-1", action: str = "a") -> LogEvent:
    return LogEvent(position, "decision", 0.0, name, {"action": action})


def _reward(position: int = 2, name: str = "d-1", value: float = 0.5, weight: float = 0.7, about: int = 1) -> LogEvent:
    said = {"about": about, "value": value, "source": "user-1", "weight": weight}
    return LogEvent(position, "reward", 0.0, name, said)


def test_a_log_that_says_what_was_told_is_fine() -> None:
    auditor = _audited()
    auditor.settle([_decision(), _reward()])
    auditor.compare(Diagnostics(1, 2, rewards={"learned": 1}, gauge={"estimate": 0.5}), spent=0.5)
    assert auditor.violations == []


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ([_decision()], "lost"),
        ([], "lost"),
        ([_decision(), _reward(3)], "gap"),
        ([_decision(), _reward(), _reward(3)], "doubled"),
        ([_decision(), _reward(), _decision(3)], "doubled"),
        ([_decision(), _reward(), _decision(3, "d-2")], "ghost"),
        ([_decision(), _reward(), _reward(3, "d-9")], "ghost"),
        ([_decision(), _reward(about=7)], "ghost"),
        ([_decision(), _reward(), LogEvent(3, "expiry", 0.0, None, {"about": 7})], "ghost"),
        ([_decision(action="b"), _reward()], "altered"),
        ([_decision(), _reward(value=0.6)], "altered"),
        ([_decision(), _reward(weight=1.0)], "altered"),
    ],
)
def test_a_log_that_says_anything_else_is_not(log: list[LogEvent], kind: str) -> None:
    auditor = _audited()
    auditor.settle(log)
    assert kind in {violation.kind for violation in auditor.violations}


@pytest.mark.parametrize("result", [RewardResult("d-1", "learned", 0.7, 3), RewardResult("d-1", "late", None, 3)])
def test_a_reward_that_comes_again_must_be_a_duplicate(result: RewardResult) -> None:
    auditor = _audited()
    auditor.claim([CLAIM])
    auditor.rewarded([CLAIM], [result])
    assert [violation.kind for violation in auditor.violations] == ["wrong outcome"]


@pytest.mark.parametrize(("weight", "is_insured"), [(0.0, True), (1.2, True), (None, True), (0.9, False)])
def test_a_weight_that_cannot_be_is_seen(weight: float | None, is_insured: bool) -> None:
    auditor = Auditor(is_insured)
    auditor.claim([CLAIM])
    auditor.rewarded([CLAIM], [RewardResult("d-1", "learned", weight, 2)])
    assert [violation.kind for violation in auditor.violations] == ["wrong weight"]


def test_a_gauge_above_the_truth_and_a_wrong_count_are_seen() -> None:
    auditor = _audited()
    auditor.settle([_decision(), _reward()])
    auditor.compare(Diagnostics(1, 2, rewards={"learned": 2}, gauge={"estimate": 0.6}), spent=0.5)
    auditor.compare(Diagnostics(1, 1, rewards={"learned": 0}), spent=0.5)
    assert [violation.kind for violation in auditor.violations] == ["wrong count", "wrong gauge"] + ["wrong count"] * 2


@pytest.mark.parametrize(("action", "position", "value"), [("a", 1, None), ("a", 1, 0.6), ("b", 1, 0.5), ("a", 3, 0.5)])
def test_what_was_acknowledged_must_be_there_at_once_with_its_reward(
    action: str, position: int, value: float | None
) -> None:
    auditor = _audited()
    rewards = () if value is None else (RewardRecord("d-1", value),)
    auditor.look_up("d-1", auditor.owed("d-1"), DecisionRecord("d-1", action, ["a"], position, rewards=rewards))
    assert [violation.kind for violation in auditor.violations] == ["not durable"]


def test_what_is_there_as_it_was_acknowledged_is_fine() -> None:
    auditor = _audited()
    auditor.look_up(
        "d-1", auditor.owed("d-1"), DecisionRecord("d-1", "a", ["a"], 1, rewards=(RewardRecord("d-1", 0.5),))
    )
    assert auditor.violations == []


def test_an_answer_that_nobody_asked_for_is_seen() -> None:
    auditor = Auditor(is_insured=True)
    auditor.decided([Decision("d-9", "home", Chosen("a", 0), 1)])
    assert [violation.kind for violation in auditor.violations] == ["ghost"]


def test_a_decision_whose_answer_got_lost_may_be_in_the_log_once() -> None:
    for log, kinds in (([], []), ([_decision()], []), ([_decision(), _decision(2)], ["doubled"])):
        auditor = Auditor(is_insured=True)
        auditor.ask(["d-1"])
        auditor.settle(log)
        assert [violation.kind for violation in auditor.violations] == kinds


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, True), ({"corruption": {"budget": 0}}, False), ({"corruption": {"budget": 3}}, True), ({"seed": 1}, True)],
)
def test_a_plan_knows_whether_its_learner_is_insured(settings: dict[str, Any], expected: bool) -> None:
    assert Plan(SCENARIOS["cold-item"], settings=settings).is_insured == expected


def test_of_two_copies_under_way_at_once_either_may_be_the_duplicate() -> None:
    auditor = Auditor(is_insured=True)
    auditor.claim([CLAIM])
    auditor.claim([CLAIM])
    auditor.rewarded([CLAIM], [RewardResult("d-1", "duplicate", 0.7, 2)])
    auditor.rewarded([CLAIM], [RewardResult("d-1", "learned", 0.7, 2)])
    assert auditor.violations == []
    auditor.claim([CLAIM])
    auditor.rewarded([CLAIM], [RewardResult("d-1", "learned", 0.7, 2)])
    assert [violation.kind for violation in auditor.violations] == ["wrong outcome"]


def test_a_first_reward_that_is_called_a_duplicate_is_seen() -> None:
    auditor = Auditor(is_insured=True)
    auditor.claim([CLAIM])
    auditor.rewarded([CLAIM], [RewardResult("d-1", "duplicate", 0.7, 2)])
    assert [violation.kind for violation in auditor.violations] == ["wrong outcome"]
