import numpy as np

from holdfast.arrays import Array
from holdfast.functions import Kernel, KernelRidge, Linear
from holdfast.functions.kernel import CoreSetState
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
    np.testing.assert_allclose(width, exact_width, atol=0.05)


def test_a_point_seen_often_is_known_as_well_as_the_exact_posterior_knows_it() -> None:
    kernel = KernelRidge(2, ridge=0.1, kernel=Kernel("rbf", 0.6))
    x = points(kernel, 1, seed=4)
    state = folded(kernel, np.repeat(x, 5_000, axis=0), np.full(5_000, 0.5), lambda width: 1.0, donate=True)
    np.testing.assert_allclose(kernel.evaluate(state, x)[1], 1 / np.sqrt(5_000), rtol=0.01)


def _crowded(kernel: KernelRidge, count: int = 3_000) -> tuple[Array, CoreSetState]:
    """A core that had to be thinned: points in one half of the ball, more of them novel than there is room for."""
    x = points(kernel, count, seed=6)
    x[:, 0] = -np.abs(x[:, 0])
    return x, folded(kernel, x, 0.5 + 0.3 * x[:, 1], lambda width: 0.8, donate=True)


def test_a_full_core_is_thinned_and_goes_on_learning() -> None:
    kernel = KernelRidge(3, ridge=0.2, kernel=Kernel("rbf", 0.4), core_size=30)
    x, state = _crowded(kernel)
    assert 5 < state.size <= 30
    assert state.threshold > kernel.threshold
    mean, width = kernel.evaluate(state, x)
    assert np.abs(mean - (0.5 + 0.3 * x[:, 1])).mean() < 0.05
    assert np.median(width) < 0.2


def test_a_region_never_seen_is_still_unknown_after_the_core_was_full() -> None:
    """Traffic elsewhere must not use up the curiosity about a cold region."""
    kernel = KernelRidge(3, ridge=0.2, kernel=Kernel("rbf", 0.4), core_size=60)
    _, state = _crowded(kernel)
    assert state.threshold > kernel.threshold
    assert state.homeless == 0.0
    _, width = kernel.evaluate(state, np.array([[1.0, 0.0, 0.0]]))
    assert width[0] > 0.8 / np.sqrt(0.2)


def test_thinning_makes_no_weighted_width_larger() -> None:
    """What keeps the bias bound: restricting the functions to a smaller span cannot widen the part that is fitted."""
    kernel = KernelRidge(3, ridge=0.2, kernel=Kernel("rbf", 0.4), core_size=40, threshold=1e-4)
    x = points(kernel, 600, seed=7)
    state, thinned = kernel.init(), 0
    for row in x:
        if state.size == 40 and state.threshold < 0.5:
            thin = kernel._thinned(state)
            thinned += thin.size < 40
            assert (_fitted_widths(kernel, thin, x) <= _fitted_widths(kernel, state, x) + 1e-9).all()
        state, _ = kernel.observe(state, row, 0.5, lambda width: 0.7)
    assert thinned >= 2


def test_thinning_keeps_what_was_learned_of_the_points_that_stay() -> None:
    """Against the exact regression on the smaller span, from the whole history."""
    kernel = KernelRidge(2, ridge=0.3, kernel=Kernel("rbf", 0.5), core_size=25, threshold=1e-5)
    x = points(kernel, 25, seed=11)
    y = rewards(kernel, x, seed=11)
    full = folded(kernel, x, y, lambda width: 0.6)
    assert full.size == 25
    thin = kernel._thinned(full)
    assert thin.size < 25
    psi = kernel.kernel.between(x, thin.core[: thin.size]) @ thin.whitener[: thin.size, : thin.size].T
    gram = 0.3 * np.eye(thin.size) + 0.6 * psi.T @ psi
    np.testing.assert_allclose(thin.theta[: thin.size], np.linalg.solve(gram, 0.6 * psi.T @ y), rtol=1e-6, atol=1e-8)
    expected = np.sqrt(np.einsum("ij,ij->i", psi, np.linalg.solve(gram, psi.T).T))
    np.testing.assert_allclose(_fitted_widths(kernel, thin, x), expected, rtol=1e-6)


def test_a_space_too_large_for_the_core_is_not_explored_for_ever() -> None:
    kernel = KernelRidge(3, ridge=0.2, kernel=Kernel("rbf", 0.1), core_size=10)
    x = points(kernel, 20_000, seed=12)
    state = folded(kernel, x[:200], np.full(200, 0.5), lambda width: 1.0)
    assert state.homeless > 0.0
    _, early = kernel.evaluate(state, x[:500])
    for row in x:
        state, _ = kernel.observe(state, row, 0.5, lambda width: 1.0, donate=True)
    assert np.median(kernel.evaluate(state, x[:500])[1]) < 0.1 * np.median(early)


def _fitted_widths(kernel: KernelRidge, state: CoreSetState, x: Array) -> Array:
    psi = kernel.kernel.between(x, state.core[: state.size]) @ state.whitener[: state.size, : state.size].T
    widths: Array = np.linalg.norm(psi @ state.root[: state.size, : state.size], axis=1)
    return widths


def test_the_leftover_counts_weights() -> None:
    kernel = KernelRidge(2, ridge=0.3, kernel=Kernel("rbf", 0.5), threshold=0.4)
    x = points(kernel, 300, seed=8)
    full, half = (folded(kernel, x, np.full(300, 0.5), lambda width, w=w: w) for w in (1.0, 0.5))
    np.testing.assert_allclose(half.leftover, 0.5 * full.leftover)
    assert full.leftover.sum() > 1.0
    assert kernel.log_complexity(full) > full.log_det


def test_the_same_point_never_enters_twice() -> None:
    for smoothness in (0.5, 1.5, 2.5):
        kernel = KernelRidge(2, ridge=0.001, kernel=Kernel("matern", 0.05, smoothness), core_size=40, threshold=1e-3)
        x = np.tile(points(kernel, 3, seed=9), (100, 1))
        assert folded(kernel, x, np.full(300, 0.5), lambda width: 1.0).size == 3


def test_a_short_first_point_is_learned_too() -> None:
    kernel = KernelRidge(2, ridge=0.3, kernel=Kernel("linear"))
    state = folded(kernel, np.tile([0.006, 0.003], (50, 1)), np.full(50, 0.9), lambda width: 1.0)
    assert state.size == 1


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
