"""Sessions against a live service, with an auditor of their own that catches what is wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from holdfast_client import Client, LogEvent, RewardResult
from holdfast_client.models import Chosen, EpisodeEnd, Step
from holdfast_client.simulator import sessions
from holdfast_client.simulator.mdps import END, PROBLEMS, Problem, combination_lock
from holdfast_client.simulator.run import Account, Plan, run
from holdfast_client.simulator.saboteurs import Happened, Thief
from holdfast_client.simulator.session_auditor import SessionAuditor
from holdfast_client.simulator.sessions import SESSIONS, SessionRun
from tests.acceptance.server import Server, serving
from tests.databases import fresh_url
from tests.simulator.mutants import SESSION_MUTANTS

ROUNDS, FEWER = 500, 100
STEP = Step(1, Chosen("a", 0), 2)


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
    assert account.spent[-1] <= SESSIONS[name].budget + 1e-9
    assert (account.spent[-1] > 0.0) == (SESSIONS[name].aim != "nobody")
    assert account.counts["rewards"] + account.counts["missing"] == account.counts["decisions"]
    if SESSIONS[name].traffic.missing == 0.0:
        assert len(account.weights) == account.counts["rewards"]
    else:
        assert 0 < len(account.weights) < account.counts["rewards"]
        assert account.counts["duplicates"] > 0


@pytest.mark.parametrize("mutant", SESSION_MUTANTS)
def test_a_broken_service_is_caught(mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PLAN_WITHIN_S", 0.5)  # a broken service may never have one
    prelude = f"from tests.simulator import mutants; mutants.{mutant}()"
    with serving(fresh_url("sqlite", tmp_path), prelude=prelude) as server:
        account = _run(server, "swim-decoy", 1 if mutant == "early_ack" else 60)  # an episode is enough to look one up
    assert SESSION_MUTANTS[mutant] & {violation.kind for violation in account.violations}


def test_what_happens_in_a_session_is_drawn_from_the_seed() -> None:
    with Client("http://nobody.invalid") as client:
        first, again, other = (SessionRun(client, SESSIONS["swim-decoy"], seed, True) for seed in (4, 4, 5))
    drawn = [[under_way.problem.step(under_way.rng, 1, 1) for _ in range(50)] for under_way in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("make", PROBLEMS.values())
def test_the_best_action_has_no_regret_and_the_others_have_what_a_session_loses_by_them(
    make: Callable[[int], Problem],
) -> None:
    """And a session without regret earns what backward induction says."""
    problem, rng = make(0), np.random.default_rng(0)
    regrets = np.array([[problem.regret(1, x, a) for a in range(problem.rewards.shape[1])] for x in range(3)])
    assert (regrets >= 0.0).all()
    assert (regrets.min(axis=1) == 0.0).all()
    assert regrets.max() > 0.0
    played = [_played(problem, rng) for _ in range(2_000)]
    assert np.mean(played) == pytest.approx(problem.start @ problem.best[0].max(axis=1), abs=0.05)


def _played(problem: Problem, rng: np.random.Generator) -> float:
    """What a session without regret earns."""
    x, earned = problem.begin(rng), 0.0
    for h in range(1, problem.length + 1):
        action = min(range(problem.rewards.shape[1]), key=lambda a: problem.regret(h, x, a))
        reward, x = problem.step(rng, x, action)
        earned += reward
        if x == END:
            break
    return earned


def test_a_thief_pays_1_for_every_theft_and_stops_when_it_cannot() -> None:
    problem = combination_lock(0)
    thief = Thief(problem, 2.5)
    best = int(problem.best[0, 0].argmax())
    told = [thief.tell(Happened(1, 0, best, 0.0, 1), t) for t in range(4)]
    assert [step.following == 1 for step in told] == [False, False, True, True]
    assert thief.account.spent == 2.0


def _audited() -> SessionAuditor:
    """An episode of one step, all of it acknowledged."""
    auditor = SessionAuditor(length=1)
    auditor.start("e-0")
    auditor.ask("e-0", 1)
    auditor.stepped("e-0", 1, STEP)
    auditor.claim("e-0", 1, 0.5)
    auditor.rewarded("e-0", 1, 0.5, RewardResult("e-0", "learned", 1.0, 3))
    auditor.finished("e-0", EpisodeEnd("e-0", outcome="learned"))
    assert auditor.violations == []
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
    elsewhere = LogEvent(2, "step", 0.0, None, {"episode_id": "e-0", "step": 1, "action": "b"})
    heavy = LogEvent(4, "learned", 0.0, None, {"episode_id": "e-0", "weights": [1.5]})
    assert _kinds(log[:3]) == {"lost"}
    assert _kinds([]) == {"lost"}
    assert _kinds([log[0], elsewhere, *log[2:]]) == {"altered"}
    assert _kinds([*log[:3], heavy, log[4]]) == {"wrong weight"}
    assert "gap" in _kinds([log[0], *log[2:]])
    assert _kinds([*log, ghost]) == {"ghost"}
    assert _kinds([*log, again]) == {"doubled"}
    assert _kinds([*log[:2], altered, *log[3:]]) == {"altered"}


def test_what_is_told_of_a_reward_must_be_what_becomes_of_it() -> None:
    """Two steps: the first reward waits for the second, which completes the episode; again, it is a duplicate."""
    auditor = SessionAuditor(length=3)
    for number in (1, 2):
        auditor.stepped("e-0", number, Step(number, Chosen("a", 0), number + 1))
    for step, outcome in ((1, "learned"), (1, "pending")):
        auditor.rewarded("e-0", step, 0.5, RewardResult("e-0", outcome, None, 4))
    auditor.finished("e-0", EpisodeEnd("e-0", outcome="learned"))
    auditor.rewarded("e-0", 2, 0.5, RewardResult("e-0", "pending", None, 5))
    said = [violation.what.split(": ")[1] for violation in auditor.violations]
    assert said == [
        "learned instead of pending",
        "pending instead of duplicate",
        "learned instead of pending",
        "pending instead of learned",
    ]


def test_a_step_that_is_not_the_next_one_is_seen() -> None:
    auditor = SessionAuditor(length=3)
    auditor.stepped("e-0", 2, STEP)
    assert [violation.kind for violation in auditor.violations] == ["wrong step"]


def test_a_call_without_an_answer_may_have_left_something_in_the_log_or_not() -> None:
    for log in ([], _log()[:3]):
        auditor = SessionAuditor(length=1)
        auditor.start("e-0")
        auditor.ask("e-0", 1)
        auditor.claim("e-0", 1, 0.5)
        auditor.settle(log)
        assert auditor.violations == []
