"""The weighted regression everything rests on."""

import numpy as np
from scipy.optimize import minimize

from holdfast.arrays import Array
from holdfast.functions import Linear
from holdfast.functions.ridge import widths
from tests.contracts import folded, points, rewards, robust
from tests.oracles import extended_widths_squared, ill_conditioned_points


def _weighted_moments(linear: Linear, x: Array, y: Array) -> tuple[Array, Array]:
    """Λ and Σ wφy, with the weights the fold really gave."""
    state, gram, moment = linear.init(), linear.ridge * np.eye(linear.dimension), np.zeros(linear.dimension)
    for row, value in zip(x, y, strict=True):
        state, seen = linear.observe(state, row, float(value), robust)
        gram += seen.weight * np.outer(row, row)
        moment += seen.weight * row * value
    return gram, moment


def test_the_fit_is_the_weighted_ridge_solution() -> None:
    linear = Linear(5, ridge=0.3)
    x = points(linear, 200, seed=1)
    y = rewards(linear, x, seed=1)
    gram, moment = _weighted_moments(linear, x, y)
    np.testing.assert_allclose(folded(linear, x, y, robust).theta, np.linalg.solve(gram, moment), rtol=1e-9)


def test_the_width_is_the_norm_under_the_inverse_of_the_weighted_gram_matrix() -> None:
    linear = Linear(5, ridge=0.3)
    x = points(linear, 200, seed=1)
    y = rewards(linear, x, seed=1)
    gram, _ = _weighted_moments(linear, x, y)
    expected = np.sqrt(np.einsum("ij,ij->i", x, np.linalg.solve(gram, x.T).T))
    np.testing.assert_allclose(linear.evaluate(folded(linear, x, y, robust), x)[1], expected, rtol=1e-9)


def test_the_log_determinant_is_that_of_the_weighted_gram_matrix() -> None:
    linear = Linear(5, ridge=0.3)
    x = points(linear, 200, seed=1)
    y = rewards(linear, x, seed=1)
    gram, _ = _weighted_moments(linear, x, y)
    expected = np.linalg.slogdet(gram)[1] - 5 * np.log(0.3)
    np.testing.assert_allclose(linear.log_complexity(folded(linear, x, y, robust)), expected, rtol=1e-10)


def _numerical_sup(
    linear: Linear, lam: float, z: Array, x: Array, weights: Array, centre: Array, radius: float
) -> float:
    """sup over ‖θ‖ ≤ radius of |(θ − centre)ᵀz| / sqrt(λ + Σ w((θ − centre)ᵀx)²), from many starts."""

    def negative_ratio(theta: Array) -> float:
        inside = theta * min(1.0, radius / max(np.linalg.norm(theta), 1e-12))
        v = inside - centre
        return -abs(float(v @ z)) / float(np.sqrt(lam + weights @ (x @ v) ** 2))

    rng = np.random.default_rng(0)
    starts = rng.normal(size=(30, len(z))) * radius
    return max(-minimize(negative_ratio, s, method="Nelder-Mead", options={"maxiter": 4000}).fun for s in starts)


def test_the_width_equals_the_numerical_sup_over_differences_in_a_ball() -> None:
    """With ‖f − f̂‖ ≤ 2B the paper's sup is exactly the ridge width at λ/(4B²)."""
    lam, b = 0.5, 1.5
    linear = Linear(3, ridge=lam / (4 * b * b))
    x = points(linear, 15, seed=2)
    state = folded(linear, x, rewards(linear, x, seed=2), lambda width: 0.6)
    for z in points(linear, 3, seed=3):
        sup = _numerical_sup(linear, lam, z, x, np.full(15, 0.6), np.zeros(3), 2 * b)
        width = linear.evaluate(state, z[None, :])[1][0]
        assert sup <= width * (1 + 1e-9)
        assert sup >= width * (1 - 1e-3)


def test_the_width_bounds_the_numerical_sup_over_the_class_around_the_fit() -> None:
    """Over {‖θ‖ ≤ B} around the real f̂ the sup is smaller, never larger."""
    lam, b = 0.5, 1.5
    linear = Linear(3, ridge=lam / (4 * b * b))
    x = points(linear, 15, seed=2)
    state = folded(linear, x, rewards(linear, x, seed=2), lambda width: 0.6)
    assert np.linalg.norm(state.theta) <= b
    for z in points(linear, 3, seed=3):
        sup = _numerical_sup(linear, lam, z, x, np.full(15, 0.6), state.theta, b)
        assert 0.0 < sup <= linear.evaluate(state, z[None, :])[1][0] * (1 + 1e-9)


def test_after_many_ill_conditioned_updates_the_width_still_agrees_with_extended_precision() -> None:
    """A shorter form of the million updates of `make bench`."""
    linear = Linear(12, ridge=0.01)
    rng = np.random.default_rng(4)
    x = ill_conditioned_points(rng, 20_000, 12, spread=1e4)
    state, gram = linear.init(), 0.01 * np.eye(12, dtype=np.longdouble)
    for row in x:
        state, seen = linear.observe(state, row, 0.5, robust, donate=True)
        wide = row.astype(np.longdouble)
        gram += seen.weight * np.outer(wide, wide)
    probes = np.concatenate([x[:50], points(linear, 50, seed=5), np.eye(12)])
    squared = widths(state.root, probes) ** 2
    assert (squared > 0.0).all()
    np.testing.assert_allclose(squared, extended_widths_squared(gram, probes), rtol=1e-8)
