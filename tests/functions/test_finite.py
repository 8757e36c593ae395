"""Against Algorithm 1 as a whole: see `tests/learners/test_bandit.py`."""

import numpy as np
import pytest

from holdfast.errors import InvalidConfiguration
from holdfast.functions import Finite
from tests.contracts import _weights, folded, points, robust


def test_the_confidence_set_is_nested_and_keeps_the_fit() -> None:
    finite = Finite(_weights(3, 40, 4), ridge=0.5)
    x = points(finite, 300, seed=1)
    y = np.clip(x @ np.array(finite.candidates[7]), 0, 1)
    state, alive = finite.init(), 40
    for row, value in zip(x, y, strict=True):
        state, _ = finite.observe(state, row, float(value), robust)
        narrowed = finite.confine(state, 0.8)
        assert not (narrowed.alive & ~state.alive).any()
        assert narrowed.alive[narrowed.best]
        state, alive = narrowed, int(narrowed.alive.sum())
    assert 1 <= alive < 40


def test_optimism_is_the_exact_maximum_over_the_functions_still_possible() -> None:
    finite = Finite(_weights(4, 30, 3), ridge=0.5)
    x = points(finite, 50, seed=2)
    state = finite.confine(folded(finite, x, np.full(50, 0.3), robust), 1.2)
    mean, bonus = finite.optimism(state, x, beta=99.0)
    possible = np.array(finite.candidates)[state.alive]
    np.testing.assert_allclose(mean + bonus, (x @ possible.T).max(axis=1))
    assert (bonus >= 0.0).all()


@pytest.mark.parametrize(
    "candidates",
    [(), ((),), ((0.1, 0.2), (0.3,)), ((float("nan"),),), tuple((0.1,) for _ in range(2_001))],
    ids=["none", "empty", "ragged", "nan", "too-many"],
)
def test_unusable_candidates_are_refused(candidates: tuple[tuple[float, ...], ...]) -> None:
    with pytest.raises(InvalidConfiguration):
        Finite(candidates)
