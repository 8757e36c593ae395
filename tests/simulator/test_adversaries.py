"""What each attack wants: which rewards it changes, which it leaves alone, and under whose name."""

import numpy as np
import pytest

from holdfast_client.simulator.adversaries import (
    Adversary,
    Moment,
    Sleeper,
    Sparse,
    Target,
    Unsure,
    burst,
    flip,
    kill_cold,
    promote,
    suppress,
    thin,
)
from holdfast_client.simulator.problems import Round
from holdfast_client.simulator.scenarios import SCENARIOS

WORST, COLD, BEST = 0, 1, 2
ROUND = Round([None] * 3, np.array([0.1, 0.5, 0.9]), cold=COLD)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (suppress, [0.6, 0.6, 0.0]),
        (promote, [1.0, 0.6, 0.6]),
        (kill_cold, [0.6, 0.0, 0.6]),
        (flip, [0.4, 0.4, 0.4]),
        (thin, [0.6, 0.6, 0.5]),
    ],
)
def test_an_attack_changes_what_it_aims_at_and_nothing_else(target: Target, said: list[float]) -> None:
    """Each item shown once, each time worth 0.6."""
    assert [target(Moment(ROUND, 7, k, 0.6)) for k in (WORST, COLD, BEST)] == pytest.approx(said)


def test_before_anything_has_arrived_there_is_nothing_cold_to_kill() -> None:
    assert [kill_cold(Moment(ROUND._replace(cold=-1), 0, k, 0.6)) for k in range(3)] == [0.6] * 3


def test_a_scanner_rewards_everything_for_a_tenth_of_the_time() -> None:
    said = [burst(Moment(ROUND, t, WORST, 0.0)) for t in range(300)]
    assert [t for t, value in enumerate(said) if value == 1.0] == [t for t in range(300) if t % 100 < 10]


def test_sleepers_behave_until_they_wake() -> None:
    sleeper = Sleeper(start=5)
    assert [sleeper(Moment(ROUND, t, BEST, 0.6)) for t in (0, 4, 5, 9)] == [0.6, 0.6, 0.0, 0.0]


def test_the_opportunist_strikes_where_the_learner_is_less_sure_than_usual() -> None:
    unsure = Unsure()
    assert [unsure(Moment(ROUND, t, BEST, 0.6, bonus)) for t, bonus in enumerate((0.5, 0.1, 0.9))] == [0.4, 0.6, 0.4]


def test_random_lies_are_few_and_come_from_the_seed() -> None:
    def said(seed: int) -> list[float]:
        sparse = Sparse(seed)
        return [sparse(Moment(ROUND, t, BEST, 0.6)) for t in range(1_000)]

    assert 20 < sum(value != 0.6 for value in said(1)) < 100
    assert said(1) == said(1) != said(2)


def test_the_lies_of_a_click_farm_come_from_a_few_sources_and_the_truth_from_many() -> None:
    farm: Adversary = SCENARIOS["clicks-farm"].adversary(0, 100)
    assert {farm.source(t, is_lie=True) for t in range(100)} == {"farm-1", "farm-2", "farm-3"}
    assert len({farm.source(t, is_lie=False) for t in range(100)}) == 100


def test_the_weak_commit_before_they_see_what_is_shown_and_what_it_earns() -> None:
    """Whatever happens in a round, what it costs them is the same, and only the marked item is lied about."""
    spent, said = [], []
    for chosen, honest in ((WORST, 0.2), (COLD, 0.5), (BEST, 1.0)):
        weak = Adversary(suppress, 10.0, is_weak=True)
        said.append(weak.corrupt(Moment(ROUND, 0, chosen, honest)))
        spent.append(weak.spent)
    assert spent == [0.9] * 3
    assert said == pytest.approx([0.2, 0.5, 0.1])
