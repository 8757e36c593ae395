"""A core set sampled by sensitivity: probabilities, multiplicities, and widths near those of all the points."""

import numpy as np
import pytest

from holdfast.arrays import Array
from holdfast.errors import InvalidConfiguration
from holdfast.functions import Kernel, KernelRidge, StableKernel
from holdfast.functions.stable import RATE, StableState
from holdfast.learners import codec

RIDGE = 0.1


def _stable(seed: int = 0, bonus_size: int = 400) -> StableKernel:
    return StableKernel(KernelRidge(2, ridge=RIDGE, kernel=Kernel("rbf", 0.4), core_size=60), bonus_size, seed)


def _points(count: int, seed: int = 1) -> Array:
    points: Array = np.random.default_rng(seed).uniform(-0.7, 0.7, size=(count, 2))
    return points


def _weigh(width: float) -> float:
    return 1.0 if width <= 0.5 else 0.5 / width


def _folded(stable: StableKernel, points: Array, donate: bool = True) -> tuple[StableState, Array]:
    state, weights = stable.init(), []
    for row in points:
        state, seen = stable.observe(state, row, 0.3, _weigh, donate)
        weights.append(seen.weight)
    return state, np.array(weights)


def _exact_widths(kernel: Kernel, points: Array, weights: Array, x: Array) -> Array:
    """sup_f f(z)²/(λ + Σ f(z_s)²/σ_s²) over all points, by its dual."""
    gram = kernel.between(points, points) + RIDGE * np.diag(1.0 / weights)
    cross = kernel.between(x, points)
    squared = 1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T))
    widths: Array = np.sqrt(squared / RIDGE)
    return widths


def test_each_point_is_kept_with_a_multiple_of_its_sensitivity_and_counts_as_often() -> None:
    stable, points = _stable(), _points(150)
    state, kept = stable.init(), 0
    for position, row in enumerate(points):
        width = float(stable.widths(state, row[None, :])[0])
        weight = _weigh(width)
        # sup_f (f²/σ²)/(λ + ‖f‖² + f²/σ²): the point itself is among those compared with.
        sensitivity = weight * width**2 / (1.0 + weight * width**2)
        probability = min(1.0, RATE * sensitivity)
        expected = np.random.default_rng((stable.seed, position)).random() < probability
        state, _ = stable.observe(state, row, 0.3, _weigh)
        assert state.size - kept == int(expected)
        if expected:
            assert state.mass[kept] == pytest.approx(weight / probability)
        kept = state.size
    assert 0 < kept < 150


@pytest.mark.parametrize("bonus_size", [400, 12])
def test_the_core_set_stands_for_all_points_without_bias(bonus_size: int) -> None:
    """Σ (1/p)·g(z)/σ² over the core set is Σ g(z)/σ² over all points, on average: also when a full set was halved."""
    points = _points(60)
    errors = []
    for seed in range(300):
        state, weights = _folded(_stable(seed, bonus_size), points)
        assert state.size <= bonus_size
        values = np.cos(3.0 * points[:, 0])
        estimate = state.mass[: state.size] @ np.cos(3.0 * state.points[: state.size, 0])
        errors.append(estimate - weights @ values)
    assert (state.rate < RATE) == (bonus_size == 12)
    standard_error = np.std(errors) / np.sqrt(len(errors))
    assert standard_error > 0.0
    assert abs(np.mean(errors)) <= 4.0 * standard_error


def test_widths_are_near_those_of_all_points() -> None:
    stable, points = _stable(bonus_size=600), _points(1_500)
    state, weights = _folded(stable, points)
    assert state.size < 500
    x = _points(300, seed=9)
    ratios = stable.widths(state, x) / _exact_widths(stable.fit.kernel, points, weights, x)
    low, high = np.quantile(ratios, [0.01, 0.99])
    assert low >= 0.75
    assert high <= 1.6


def test_the_factor_is_that_of_the_definition() -> None:
    stable = _stable()
    state, _ = _folded(stable, _points(80))
    core, mass = state.points[: state.size], state.mass[: state.size]
    x = _points(20, seed=3)
    np.testing.assert_allclose(stable.widths(state, x), _exact_widths(stable.fit.kernel, core, mass, x), rtol=1e-7)


def test_inducing_points_are_chosen_without_weights_and_bonus_points_apart_from_them() -> None:
    """Whatever the weights, the same points represent the fit."""
    stable, points = _stable(), _points(100)
    one, other = stable.init(), stable.init()
    for row in points:
        one, _ = stable.observe(one, row, 0.3, lambda width: 1.0)
        other, _ = stable.observe(other, row, 0.3, lambda width: 0.01)
    np.testing.assert_array_equal(one.inducing.core, other.inducing.core)
    assert one.size != other.size


def test_the_same_points_give_the_same_bits_donated_or_not_and_another_seed_another_set() -> None:
    points = _points(100)
    kept = codec.encode(_folded(_stable(3, 20), points, donate=False)[0])
    assert codec.encode(_folded(_stable(3, 20), points)[0]) == kept
    assert codec.encode(_folded(_stable(4, 20), points)[0]) != kept
    assert _stable(3, 20).is_sound(codec.decode(kept, like=_stable(3, 20).init()))


def test_a_core_set_needs_room() -> None:
    with pytest.raises(InvalidConfiguration):
        _stable(bonus_size=1)
