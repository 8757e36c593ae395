import numpy as np
import pytest

from holdfast.functions import Linear, Quadratic
from tests.contracts import folded, points, rewards, robust


@pytest.mark.parametrize("affine", [True, False])
def test_quadratic_equals_linear_on_lifted_features(affine: bool) -> None:
    quadratic = Quadratic(3, ridge=0.4, affine=affine)
    x = points(quadratic, 80, seed=1)
    y = rewards(quadratic, x, seed=1)
    lifted = quadratic.lift(np.empty(0), x)
    linear = Linear(quadratic.parameters, ridge=0.4)
    ours = quadratic.evaluate(folded(quadratic, x, y, robust), x)
    theirs = linear.evaluate(folded(linear, lifted, y, robust), lifted)
    np.testing.assert_array_equal(ours, theirs)


def test_any_symmetric_form_is_in_the_class() -> None:
    quadratic = Quadratic(4, affine=False)
    rng = np.random.default_rng(0)
    m = rng.normal(size=(4, 4))
    m += m.T
    x = points(quadratic, 50, seed=2)
    lifted = quadratic.lift(np.empty(0), x)
    target = np.einsum("ni,ij,nj->n", x, m, x)
    coefficients, *_ = np.linalg.lstsq(lifted, target)
    np.testing.assert_allclose(lifted @ coefficients, target, atol=1e-12)


@pytest.mark.parametrize("affine", [True, False])
def test_lifted_features_of_a_unit_vector_have_unit_length(affine: bool) -> None:
    quadratic = Quadratic(3, affine=affine)
    x = points(quadratic, 20, seed=3)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(quadratic.lift(np.empty(0), x), axis=1), 1.0)
