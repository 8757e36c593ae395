"""Sessions against a live service, with an auditor of their own that catches what is wrong."""

import pytest

from holdfast_client import LogEvent
from holdfast_client.simulator.run import Account, Plan, run
from holdfast_client.simulator.sessions import SESSIONS, SessionAuditor
from tests.acceptance.server import Server

ROUNDS, FEWER = 500, 100


def _run(server: Server, name: str, rounds: int) -> Account:
    return run(str(server.http.base_url), Plan(SESSIONS[name], rounds, seed=4))


@pytest.mark.parametrize("name", SESSIONS)
def test_every_session_scenario_runs_within_its_budget_without_a_violation_and_again_to_the_same_digit(
    live_server: Server, name: str
) -> None:
    account, again = _run(live_server, name, ROUNDS), _run(live_server, name, FEWER)
    assert account.violations == again.violations == []
    assert account.regret[: len(again.regret)] == again.regret
    assert len(account.regret) >= ROUNDS
    assert 0.0 < account.spent[-1] <= SESSIONS[name].budget + 1e-9
    assert len(account.weights) == account.counts["rewards"]


def _audited() -> SessionAuditor:
    auditor = SessionAuditor()
    auditor.episodes.add("e-0")
    auditor.steps["e-0", 1] = (2, "a")
    auditor.rewards["e-0", 1] = (3, 0.5)
    return auditor


def _log() -> list[LogEvent]:
    return [
        LogEvent(1, "episode", 0.0, None, {"episode_id": "e-0"}),
        LogEvent(2, "step", 0.0, None, {"episode_id": "e-0", "step": 1, "action": "a"}),
        LogEvent(3, "reward", 0.0, None, {"episode_id": "e-0", "step": 1, "value": 0.5}),
        LogEvent(4, "learned", 0.0, None, {"episode_id": "e-0", "weights": [1.0]}),
        LogEvent(5, "plan", 0.0, None, {"episode_id": None}),
    ]


def _kinds(log: list[LogEvent]) -> set[str]:
    auditor = _audited()
    for event in log:
        auditor.see(event)
    auditor.close()
    return {violation.kind for violation in auditor.violations}


def test_a_log_that_says_what_was_told_is_fine() -> None:
    assert _kinds(_log()) == set()


def test_a_log_that_says_anything_else_is_not() -> None:
    ghost = LogEvent(6, "episode", 0.0, None, {"episode_id": "e-9"})
    again = LogEvent(6, "learned", 0.0, None, {"episode_id": "e-0", "weights": [1.0]})
    altered = LogEvent(3, "reward", 0.0, None, {"episode_id": "e-0", "step": 1, "value": 0.6})
    log = _log()
    assert _kinds(log[:3]) == {"lost"}
    assert "gap" in _kinds([log[0], *log[2:]])
    assert _kinds([*log, ghost]) == {"ghost"}
    assert _kinds([*log, again]) == {"doubled"}
    assert _kinds([*log[:2], altered, *log[3:]]) == {"altered"}
