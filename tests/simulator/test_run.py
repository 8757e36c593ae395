"""Every scenario against a live service, with the auditor on."""

import pytest

from holdfast_client import Client
from holdfast_client.simulator.run import Account, Plan, run
from holdfast_client.simulator.scenarios import SCENARIOS
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


def test_without_insurance_every_weight_is_1_and_with_it_some_are_less(live_server: Server) -> None:
    uninsured = _run(live_server, "cold-item", corruption={"budget": 0})
    assert set(uninsured.weights) == {1.0}
    assert min(_run(live_server, "cold-item").weights) < 1.0


def test_a_run_leaves_no_learner_behind(live_server: Server) -> None:
    _run(live_server, "catalogue-clean")
    with Client(str(live_server.http.base_url)) as client:
        assert not [learner for learner in client.list_learners() if learner.name.startswith("sim-")]
