"""Next states kept once: exact while they are few, merged in a bounded table when they are many."""

from itertools import pairwise

import numpy as np
import pytest

from holdfast.arrays import Array
from holdfast.learners.mdp import groups as tables
from holdfast.learners.mdp.groups import Groups, Limits


def _states(count: int, seed: int = 0, candidates: int = 3) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-0.5, 0.5, size=(int(rng.integers(1, candidates + 1)), 2)) for _ in range(count)]


def _filled(states: list[Array], width: float = 0.0, limits: Limits | None = None) -> Groups:
    """Each state once, with its number as value and bracket."""
    groups = tables.empty(2, 4, 1, width)
    for i, options in enumerate(states):
        if limits is not None:
            groups = tables.make_room(groups, options, limits)
        home = tables.find(groups, options)
        if home < 0:
            groups = tables.append(groups, options)
            home = groups.size - 1
            groups.values[home] = float(i)
        groups.brackets[home] += np.full(4, i + 1.0)
    return groups


def test_every_state_is_found_again_and_no_other() -> None:
    states = _states(50)
    groups = _filled(states)
    assert [tables.find(groups, options) for options in states] == list(range(50))
    assert tables.find(groups, states[0] + 1e-12) == -1
    assert tables.find(groups, np.concatenate([states[0], states[1]])) == -1


def test_states_that_round_alike_are_one() -> None:
    groups = _filled([np.array([[0.5, -0.001]])], width=0.1)
    assert tables.find(groups, np.array([[0.51, 0.002]])) == 0
    assert tables.find(groups, np.array([[0.6, 0.0]])) == -1


@pytest.mark.parametrize("width", [0.0, 0.1])
def test_zero_is_zero_with_either_sign(width: float) -> None:
    groups = _filled([np.array([[0.5, 0.0]])], width)
    assert tables.find(groups, np.array([[0.5, -0.0]])) == 0


def test_a_state_is_not_the_one_with_only_some_of_its_candidates() -> None:
    both = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert tables.find(_filled([both]), both[:1]) == -1


def test_the_best_candidate_of_each_state() -> None:
    states = _states(20, seed=3)
    groups = _filled(states)
    scores = np.random.default_rng(1).normal(size=(len(tables.rows_of(groups)), 2))
    firsts = np.cumsum([0, *map(len, states)])
    expected = [scores[a:b].max(axis=0) for a, b in pairwise(firsts)]
    np.testing.assert_array_equal(tables.best_of_each(groups, scores), expected)
    assert tables.best_of_each(tables.empty(2, 4, 2, 0.0), scores[:0]).shape == (0, 2)


@pytest.mark.parametrize("numbers_max", [300, 500, 2_000])
def test_a_table_never_holds_more_than_it_may_and_loses_no_transition(numbers_max: int) -> None:
    states, limits = _states(400, candidates=1), Limits(numbers_max)
    groups = _filled(states, limits=limits)
    assert groups.size * 9 <= numbers_max
    assert groups.merges > 0
    np.testing.assert_allclose(groups.brackets.sum(axis=0), sum(range(1, 401)))


def test_merged_states_keep_the_place_and_the_value_of_the_oldest() -> None:
    near, far, new = np.array([[0.2, 0.2]]), np.array([[-0.4, 0.1]]), np.array([[0.0, -0.3]])
    limits = Limits(numbers_max=3 * 9)
    groups = _filled([near, far, near + 1e-6, new, far + 1e-6], limits=limits)
    assert groups.merges > 0
    assert groups.values[: groups.size, 0].tolist() == [0.0, 1.0, 3.0]
    assert groups.brackets[: groups.size, 0].tolist() == [1.0 + 3.0, 2.0 + 5.0, 4.0]


def test_cells_are_never_rounded() -> None:
    limits = Limits(numbers_max=2 * 9, divisible=False)
    groups = _filled([np.array([[float(cell), 0.0]]) for cell in range(2)], limits=limits)
    third = np.array([[2.0, 0.0]])
    assert tables.make_room(groups, third, limits) is groups
    assert not tables.has_room(groups, third, limits)


def test_the_length_of_the_arrays_follows_from_what_they_hold() -> None:
    states = _states(33, candidates=1)
    assert [len(_filled(states[:n]).keys) for n in (1, 2, 3, 4, 5, 33)] == [1, 2, 4, 4, 8, 64]
