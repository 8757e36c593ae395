import numpy as np
from scipy.special import expit

from holdfast.functions import Logistic
from tests.contracts import folded, points, rewards, robust


def test_it_learns_click_rates_from_clicks() -> None:
    logistic = Logistic(3, ridge=0.02)
    rng = np.random.default_rng(0)
    theta = np.array([2.5, -1.5, 0.5])
    x = points(logistic, 8_000, seed=1)
    clicks = (rng.random(8_000) < expit(x @ theta)).astype(np.float64)
    state = folded(logistic, x, clicks, lambda width: 1.0, donate=True)
    fresh = points(logistic, 500, seed=2)
    assert np.abs(logistic.evaluate(state, fresh)[0] - expit(fresh @ theta)).max() < 0.06


def test_means_stay_rates_whatever_the_rewards() -> None:
    logistic = Logistic(4, ridge=1e-4, norm=5.0)
    x = points(logistic, 500, seed=3)
    for y in (np.zeros(500), np.ones(500), np.tile([0.0, 1.0], 250)):
        mean, width = logistic.evaluate(folded(logistic, x, y, robust), x)
        assert (mean >= expit(-5.0)).all()
        assert (mean <= expit(5.0)).all()
        assert np.isfinite(width).all()


def test_the_width_is_the_gradients_norm_under_the_newton_matrix() -> None:
    logistic = Logistic(3, ridge=0.3)
    x = points(logistic, 100, seed=4)
    y = rewards(logistic, x, seed=4)
    state, hessian = logistic.init(), 0.3 * np.eye(3)
    for row, value in zip(x, y, strict=True):
        state, seen = logistic.observe(state, row, float(value), robust)
        gradient = seen.mean * (1 - seen.mean) * row
        hessian += seen.weight * np.outer(gradient, gradient)
    mean, width = logistic.evaluate(state, x)
    gradients = (mean * (1 - mean))[:, None] * x
    expected = np.sqrt(np.einsum("ij,ij->i", gradients, np.linalg.solve(hessian, gradients.T).T))
    np.testing.assert_allclose(width, expected, rtol=1e-9)


def test_a_long_run_of_clicks_can_be_undone() -> None:
    logistic = Logistic(1, ridge=0.05)
    x = np.ones((1, 1))
    state = folded(logistic, np.repeat(x, 5_000, axis=0), np.ones(5_000), lambda width: 1.0, donate=True)
    assert abs(state.theta[0]) <= 4.0 + 1e-12
    for _ in range(300):
        state, _ = logistic.observe(state, x[0], 0.0, lambda width: 1.0)
    assert logistic.evaluate(state, x)[0][0] < 0.9


def test_the_newton_matrix_only_grows() -> None:
    """b itself may grow when f̂ moves to a steeper place; what must not grow is the norm it is measured in."""
    logistic = Logistic(3, ridge=0.3)
    x = points(logistic, 100, seed=5)
    state = logistic.init()
    before = np.linalg.norm(x @ state.root, axis=1)
    for row, value in zip(x, rewards(logistic, x, seed=5), strict=True):
        state, _ = logistic.observe(state, row, float(value), robust)
        after = np.linalg.norm(x @ state.root, axis=1)
        assert (after <= before * (1 + 1e-12)).all()
        before = after
