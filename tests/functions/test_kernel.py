import numpy as np

from holdfast.arrays import Array
from holdfast.functions import Kernel, KernelRidge, Linear
from tests.contracts import folded, points, rewards, robust


def test_kernel_with_the_linear_kernel_equals_linear_at_every_step() -> None:
    kernel = KernelRidge(4, ridge=0.3, kernel=Kernel("linear"), core_size=9, threshold=1e-9)
    linear = Linear(4, ridge=0.3)
    x = points(linear, 100, seed=1)
    y = rewards(linear, x, seed=1)
    ours, theirs = kernel.init(), linear.init()
    for row, value in zip(x, y, strict=True):
        ours, a = kernel.observe(ours, row, float(value), robust)
        theirs, b = linear.observe(theirs, row, float(value), robust)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(kernel.evaluate(ours, x), linear.evaluate(theirs, x), rtol=1e-8, atol=1e-10)
    assert ours.size == 4


def _exact_posterior(kernel: Kernel, ridge: float, x: Array, y: Array, weights: Array, z: Array) -> tuple[Array, Array]:
    """Kernel ridge regression and its width from the full Gram matrix, with noise λ/w on the diagonal."""
    gram = kernel.between(x, x) + np.diag(ridge / weights)
    cross = kernel.between(z, x)
    mean = cross @ np.linalg.solve(gram, y)
    variance = kernel.diagonal(z) - np.einsum("ij,ij->i", cross, np.linalg.solve(gram, cross.T).T)
    return mean, np.sqrt(np.maximum(variance, 0.0) / ridge)


def test_with_every_point_in_the_core_it_is_the_exact_posterior() -> None:
    kernel = KernelRidge(3, ridge=0.25, kernel=Kernel("matern", 0.7, 1.5), core_size=80, threshold=1e-12)
    x = points(kernel, 60, seed=2)
    y = rewards(kernel, x, seed=2)
    state, weights = kernel.init(), []
    for row, value in zip(x, y, strict=True):
        state, seen = kernel.observe(state, row, float(value), robust)
        weights.append(seen.weight)
    assert state.size == 60
    assert min(weights) < 1.0
    z = points(kernel, 40, seed=3)
    expected = _exact_posterior(kernel.kernel, 0.25, x, y, np.array(weights), z)
    np.testing.assert_allclose(kernel.evaluate(state, z), expected, rtol=1e-6, atol=1e-8)


def test_a_coarse_core_stays_close_to_the_exact_posterior() -> None:
    kernel = KernelRidge(2, ridge=0.1, kernel=Kernel("rbf", 0.6), core_size=200, threshold=1e-3)
    x = points(kernel, 400, seed=4)
    y = rewards(kernel, x, seed=4)
    state = folded(kernel, x, y, lambda width: 1.0)
    assert state.size < 80
    z = points(kernel, 60, seed=5)
    mean, width = kernel.evaluate(state, z)
    exact_mean, exact_width = _exact_posterior(kernel.kernel, 0.1, x, y, np.ones(400), z)
    np.testing.assert_allclose(mean, exact_mean, atol=0.02)
    assert (width >= exact_width * 0.99).all()
    assert (width <= exact_width + 0.05).all()


def test_a_full_core_stops_growing_and_stops_exploring() -> None:
    kernel = KernelRidge(3, ridge=0.2, kernel=Kernel("rbf", 0.2), core_size=20)
    x = points(kernel, 3_000, seed=6)
    state = folded(kernel, x[:100], np.full(100, 0.5), lambda width: 1.0)
    assert state.size == 20
    _, early = kernel.evaluate(state, x)
    for row in x:
        state, _ = kernel.observe(state, row, 0.5, lambda width: 1.0, donate=True)
    assert state.size == 20
    assert np.median(kernel.evaluate(state, x)[1]) < 0.3 * np.median(early)


def test_a_large_ridge_does_not_keep_points_out_of_the_core() -> None:
    kernel = KernelRidge(2, ridge=5_000.0, kernel=Kernel("rbf", 0.5))
    x = points(kernel, 50, seed=8)
    assert folded(kernel, x, np.full(50, 0.5), lambda width: 1.0).size > 10


def test_the_zero_vector_of_a_linear_kernel_teaches_nothing_and_breaks_nothing() -> None:
    kernel = KernelRidge(2, ridge=0.3, kernel=Kernel("linear"))
    state, seen = kernel.observe(kernel.init(), np.zeros(2), 0.5, robust)
    assert (state.size, seen.mean, seen.width) == (0, 0.0, 0.0)


def test_what_enters_the_core_does_not_depend_on_rewards_or_weights() -> None:
    kernel = KernelRidge(2, ridge=0.3, kernel=Kernel("rbf", 0.5), core_size=40)
    x = points(kernel, 200, seed=7)
    honest = folded(kernel, x, np.full(200, 0.5), lambda width: 1.0)
    attacked = folded(kernel, x, np.linspace(0, 1, 200), lambda width: 0.01)
    np.testing.assert_array_equal(honest.core, attacked.core)
