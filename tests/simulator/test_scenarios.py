"""What a scenario promises before any service is asked: a truth, a budget that holds, and everything from one seed."""

import numpy as np
import pytest

from holdfast_client.simulator.adversaries import Account, Moment
from holdfast_client.simulator.recorded import Digits
from holdfast_client.simulator.scenarios import AIMS, SCENARIOS, Scenario

ROUNDS = 300


def _play_at_random(scenario: Scenario, seed: int, rounds: int = ROUNDS) -> tuple[float, float, list[float]]:
    """Spent, as the account says and as the rewards show, and what was said."""
    world, adversary = scenario.world(seed, rounds), scenario.adversary(seed, rounds)
    rng, changed, said = np.random.default_rng(seed), 0.0, []
    for t in range(rounds):
        round_ = world.round(t)
        chosen = int(rng.integers(len(round_.means)))
        honest = world.reward(rng, round_, chosen)
        said.append(adversary.corrupt(Moment(round_, t, chosen, honest, float(rng.random()))))
        changed += abs(said[-1] - honest)
    return adversary.spent, changed, said


def test_there_are_at_least_twelve_and_every_aim_is_used() -> None:
    assert len(SCENARIOS) >= 12
    assert {scenario.aim for scenario in SCENARIOS.values()} == set(AIMS)
    assert any(scenario.is_weak for scenario in SCENARIOS.values())


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_adversary_overspends_and_every_reward_stays_in_range(name: str) -> None:
    scenario = SCENARIOS[name]
    spent, changed, said = _play_at_random(scenario, 3)
    assert changed <= spent + 1e-9
    assert spent <= scenario.budget + 1e-9
    assert all(0.0 <= value <= 1.0 for value in said)
    assert (spent > 0.0) == (scenario.budget > 0.0) == (scenario.aim != "nobody")
    if not scenario.is_weak:
        assert changed == pytest.approx(spent)


@pytest.mark.parametrize("name", SCENARIOS)
def test_one_seed_gives_one_story_and_another_seed_another(name: str) -> None:
    scenario = SCENARIOS[name]
    assert _play_at_random(scenario, 5) == _play_at_random(scenario, 5)
    assert _play_at_random(scenario, 5)[2] != _play_at_random(scenario, 6)[2]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_option_has_a_mean_in_range_and_an_id_of_its_own(name: str) -> None:
    world = SCENARIOS[name].world(2, ROUNDS)
    for t in range(60):
        round_ = world.round(t)
        actions = round_.actions()
        assert len({action["id"] for action in actions}) == len(round_.means)
        assert (round_.means >= 0.0).all()
        assert (round_.means <= 1.0).all()


def test_honest_rewards_are_worth_their_means() -> None:
    for name in ("catalogue-clean", "clicks-late", "segments-suppress", "logistic-decoy"):
        world, rng = SCENARIOS[name].world(1, ROUNDS), np.random.default_rng(0)
        round_ = world.round(0)
        mean = np.mean([world.reward(rng, round_, 1) for _ in range(4_000)])
        assert mean == pytest.approx(round_.means[1], abs=0.03)


def test_a_weak_adversary_pays_for_lies_that_nobody_saw() -> None:
    scenario = SCENARIOS["catalogue-weak"]
    adversary, round_ = scenario.adversary(0, ROUNDS), scenario.world(0, ROUNDS).round(0)
    worst = int(round_.means.argmin())
    assert adversary.corrupt(Moment(round_, 0, worst, 0.3)) == 0.3
    assert adversary.spent == pytest.approx(round_.means.max())


def test_an_account_gives_nothing_once_it_is_empty() -> None:
    account = Account(0.75)
    assert [account.grant(wanted) for wanted in (0.5, -0.5, 0.5)] == [0.5, -0.25, 0.0]
    assert account.spent == 0.75


def test_the_digits_are_real_and_each_has_one_right_answer() -> None:
    world = Digits(0)
    assert {float(world.round(t).means.sum()) for t in range(50)} == {1.0}
