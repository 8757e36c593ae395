"""The benchmarks run, and their accounts add up. What they measure is not asserted here: it takes minutes."""

import re

import numpy as np
import pytest

from holdfast_client.simulator.adversaries import ATTACKS, Adversary, Moment
from holdfast_client.simulator.environments import FixedCatalogue, FreshContexts, Smooth
from holdfast_client.simulator.mdps import END, PROBLEMS
from holdfast_client.simulator.problems import Environment
from holdfast_client.simulator.saboteurs import ATTACKS as SESSION_ATTACKS
from holdfast_client.simulator.saboteurs import Happened
from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.regret import Cell, Setting, play, run_once
from tests.benchmarks.rivals import PLAYERS
from tests.benchmarks.sessions import Cell as SessionCell
from tests.benchmarks.sessions import run_once as run_sessions_once
from tests.benchmarks.sessions_players import PLAYERS as SESSION_PLAYERS


@pytest.mark.parametrize("section", benchmarks.SECTIONS)
def test_every_section_runs_to_its_end(section: str) -> None:
    lines = list(benchmarks.SECTIONS[section](True))
    assert any(re.search(r"\(.*: (yes|NO)\)", line) for line in lines)


@pytest.mark.parametrize(
    "environment",
    [FixedCatalogue(1), FixedCatalogue(1, arrival=5), FreshContexts(1), FreshContexts(1, arrival=5), Smooth(1, 3)],
    ids=lambda e: f"{type(e).__name__}:{getattr(e, 'arrival', None)}",
)
def test_every_option_lies_in_the_unit_ball_and_is_worth_a_reward(environment: Environment) -> None:
    for t in range(12):
        round_ = environment.round(t)
        assert (np.linalg.norm(round_.options, axis=1) <= 1.0 + 1e-12).all()
        assert (round_.means >= 0.0).all()
        assert (round_.means <= 1.0).all()


@pytest.mark.parametrize("environment", [FixedCatalogue(2), FreshContexts(2), FreshContexts(2, arrival=3)])
def test_means_are_linear_in_the_features(environment: Environment) -> None:
    rounds = [environment.round(t) for t in range(10)]
    x, y = np.concatenate([r.options for r in rounds]), np.concatenate([r.means for r in rounds])
    fit, *_ = np.linalg.lstsq(x, y)
    np.testing.assert_allclose(x @ fit, y, atol=1e-9)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_adversary_overspends_and_each_keeps_rewards_in_range(attack: str) -> None:
    environment, adversary = FixedCatalogue(3, arrival=0), Adversary(ATTACKS[attack], 3.0)
    rng = np.random.default_rng(0)
    changed = 0.0
    for t in range(200):
        honest = float(rng.random())
        shown = adversary.corrupt(Moment(environment.round(t), t, t % 10, honest))
        assert 0.0 <= shown <= 1.0
        changed += abs(shown - honest)
    assert abs(changed - adversary.spent) < 1e-9
    assert adversary.spent <= 3.0 + 1e-9
    assert adversary.spent == (0.0 if attack == "clean" else pytest.approx(3.0))


@pytest.mark.parametrize("player", PLAYERS)
def test_the_same_seed_gives_the_same_regret_to_the_digit(player: str) -> None:
    job = (Cell("fresh contexts", "suppress", player), 4, Setting(50, 1, 2.0, 10))
    assert run_once(job) == run_once(job)


def test_regret_is_never_negative() -> None:
    regret = play(PLAYERS["insured"](10, 2.0, 1), FixedCatalogue(1), Adversary(ATTACKS["flip"], 2.0), 100, 1)
    assert (np.diff(regret) >= 0.0).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_session_problem_is_an_mdp_in_which_an_episode_earns_at_most_1(name: str) -> None:
    problem = PROBLEMS[name](3)
    assert (problem.kernels >= 0.0).all()
    assert (problem.kernels.sum(axis=2) <= 1.0 + 1e-12).all()
    assert (problem.rewards >= 0.0).all()
    assert (problem.rewards <= problem.step_max + 1e-12).all()
    assert 0.0 < problem.span < 1.0
    assert problem.best.max() <= 1.0
    if name not in ("river swim", "deep sea", "combination lock"):
        assert (np.linalg.norm(problem.features, axis=2) <= 1.0 + 1e-12).all()


@pytest.mark.parametrize("attack", SESSION_ATTACKS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_saboteur_overspends(name: str, attack: str) -> None:
    problem, budget, spent = PROBLEMS[name](3), 4.0, 0.0
    saboteur, rng = SESSION_ATTACKS[attack](problem, budget), np.random.default_rng(0)
    for t in range(300):
        x = problem.begin(rng)
        for h in range(1, problem.length + 1):
            action = int(rng.integers(problem.rewards.shape[1]))
            honest = Happened(h, x, action, *problem.step(rng, x, action))
            told = saboteur.tell(honest, t) or honest
            spent += abs(told.reward - honest.reward) + float(told.following != honest.following)
            assert 0.0 <= told.reward <= problem.step_max
            x = told.following
            if x == END:
                break
    assert spent <= budget + 1e-9
    assert (spent > 0.0) == (attack not in ("clean", "withheld"))


@pytest.mark.parametrize("player", SESSION_PLAYERS)
def test_the_same_seed_gives_the_same_sessions_to_the_digit(player: str) -> None:
    job = (SessionCell("recommender", "unsure steps", player), 4, 0.03)
    assert run_sessions_once(job) == run_sessions_once(job)
