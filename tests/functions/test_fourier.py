import numpy as np
import pytest

from holdfast.errors import InvalidConfiguration
from holdfast.functions import Fourier, Kernel, KernelRidge
from tests.contracts import folded, points, rewards


def test_fourier_features_have_unit_length() -> None:
    fourier = Fourier(3, frequencies=20)
    x = points(fourier, 30, seed=1)
    np.testing.assert_allclose(np.linalg.norm(fourier.lift(fourier.init().basis, x), axis=1), 1.0)


def test_fourier_approaches_the_kernel_it_stands_for() -> None:
    kernel = Kernel("rbf", 0.6)
    fourier = Fourier(2, ridge=0.2, kernel=kernel, frequencies=1_000)
    exact = KernelRidge(2, ridge=0.2, kernel=kernel, core_size=300, threshold=1e-9)
    x = points(fourier, 120, seed=2)
    y = rewards(fourier, x, seed=2)
    fresh = points(fourier, 50, seed=3)
    ours = fourier.evaluate(folded(fourier, x, y, lambda width: 1.0, donate=True), fresh)
    theirs = exact.evaluate(folded(exact, x, y, lambda width: 1.0, donate=True), fresh)
    np.testing.assert_allclose(ours[0], theirs[0], atol=0.05)
    np.testing.assert_allclose(ours[1], theirs[1], atol=0.1)


def test_the_frequencies_are_part_of_the_state() -> None:
    """So that a saved learner does not depend on what a later numpy draws from the seed."""
    one, other = Fourier(2, seed=1, frequencies=4), Fourier(2, seed=2, frequencies=4)
    x = points(one, 10, seed=4)
    assert not np.array_equal(one.init().basis, other.init().basis)
    np.testing.assert_array_equal(one.evaluate(other.init(), x), other.evaluate(other.init(), x))


def test_fourier_features_of_a_linear_kernel_are_refused() -> None:
    with pytest.raises(InvalidConfiguration):
        Fourier(2, kernel=Kernel("linear"))
