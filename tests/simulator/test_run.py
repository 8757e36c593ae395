"""Every scenario against a live service, with the auditor on."""

import numpy as np
import pytest

from holdfast_client import Client, Decision
from holdfast_client.models import Chosen
from holdfast_client.simulator.problems import Round
from holdfast_client.simulator.run import Account, Plan, _Run, run
from holdfast_client.simulator.scenarios import SCENARIOS, Scenario
from holdfast_client.simulator.sessions import SESSIONS, SessionScenario
from tests.acceptance.server import Server

ROUNDS, BATCH = 500, 50


def _run(server: Server, name: str, **settings: object) -> Account:
    return run(str(server.http.base_url), Plan(SCENARIOS[name], ROUNDS, 7, BATCH, settings))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_runs_twice_to_the_same_digit_within_its_budget_and_without_a_violation(
    live_server: Server, name: str
) -> None:
    first, second = _run(live_server, name), _run(live_server, name)
    assert first.violations == second.violations == []
    assert first.regret == second.regret
    assert first.weights == second.weights
    assert len(first.regret) == ROUNDS
    assert first.spent[-1] <= SCENARIOS[name].budget + 1e-9
    assert first.counts["decisions"] == ROUNDS
    assert first.counts["rewards"] + first.counts["missing"] == ROUNDS


def test_faults_in_the_traffic_do_happen(live_server: Server) -> None:
    counts = _run(live_server, "clicks-late").counts
    assert counts["duplicates"] > 0
    assert counts["missing"] > 0


def test_regret_is_what_the_best_would_have_been_worth_more_than_what_was_shown() -> None:
    account = Account(Plan(SCENARIOS["cold-item"]))
    round_ = Round([None] * 3, np.array([0.2, 0.7, 0.4]))
    for chosen in (0, 1, 2):
        account.note(round_, chosen, spent=0.0)
    assert account.regret == pytest.approx([0.5, 0.5, 0.8])


def test_rewards_are_drawn_from_the_seed() -> None:
    """Not only the world and the learner: here both are the same."""
    scenario = SCENARIOS["clicks-farm"]
    world, shown = scenario.world(0, 100), Decision("d", "home", Chosen("item-5", 5), 1)
    with Client("http://nobody.invalid") as client:
        first, again, other = (_Run(client, "home", Plan(scenario, 100, seed), scenario, world) for seed in (1, 1, 2))
    drawn = [[one.claim(t, world.round(t), shown)["value"] for t in range(100)] for one in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2]


class _Stopped(Exception):
    """Somebody pressed Ctrl-C."""


@pytest.mark.parametrize("scenario", [SCENARIOS["catalogue-clean"], SESSIONS["swim-decoy"]])
def test_a_run_that_is_broken_off_leaves_no_learner_behind(
    live_server: Server, scenario: Scenario | SessionScenario
) -> None:
    def stop(account: Account) -> None:
        raise _Stopped

    with pytest.raises(_Stopped):
        run(str(live_server.http.base_url), Plan(scenario, ROUNDS), stop)
    with Client(str(live_server.http.base_url)) as client:
        assert not [learner for learner in client.list_learners() if learner.name.startswith("sim-")]


def test_without_insurance_every_weight_is_1_and_with_it_some_are_less(live_server: Server) -> None:
    uninsured = _run(live_server, "cold-item", corruption={"budget": 0})
    assert set(uninsured.weights) == {1.0}
    assert min(_run(live_server, "cold-item").weights) < 1.0


def test_a_run_leaves_no_learner_behind(live_server: Server) -> None:
    _run(live_server, "catalogue-clean")
    with Client(str(live_server.http.base_url)) as client:
        assert not [learner for learner in client.list_learners() if learner.name.startswith("sim-")]
