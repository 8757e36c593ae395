import numpy as np
import pytest

from holdfast.errors import InvalidInput
from holdfast.functions import Linear, Tabular
from tests.contracts import points, rewards, robust


def test_tabular_equals_linear_on_one_hot_features_to_the_digit() -> None:
    tabular, linear = Tabular(6, ridge=0.3), Linear(6, ridge=0.3)
    x = points(tabular, 300, seed=1)
    one_hot = np.eye(6)[x[:, 0].astype(int)]
    ours, theirs = tabular.init(), linear.init()
    for cell, row, value in zip(x, one_hot, rewards(tabular, x, seed=1), strict=True):
        ours, a = tabular.observe(ours, cell, float(value), robust)
        theirs, b = linear.observe(theirs, row, float(value), robust)
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ours.theta, theirs.theta, rtol=1e-13)
    np.testing.assert_allclose(ours.root, np.diag(theirs.root), rtol=1e-13)
    np.testing.assert_allclose(ours.log_det, theirs.log_det, rtol=1e-13)


def test_the_width_is_one_over_the_root_of_the_weight_seen() -> None:
    tabular, weights = Tabular(3, ridge=0.4), []
    state = tabular.init()
    for _ in range(50):
        state, seen = tabular.observe(state, np.array([1.0]), 0.5, robust)
        weights.append(seen.weight)
    expected = 1 / np.sqrt([0.4, 0.4 + sum(weights), 0.4])
    np.testing.assert_allclose(tabular.evaluate(state, np.array([[0.0], [1.0], [2.0]]))[1], expected)


@pytest.mark.parametrize("cell", [-1.0, 3.0, 0.5, float("nan"), float("inf")])
def test_a_number_that_is_no_cell_is_refused(cell: float) -> None:
    tabular = Tabular(3)
    with pytest.raises(InvalidInput):
        tabular.check(np.array([cell]))
