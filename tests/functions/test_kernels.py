import numpy as np
import pytest

from holdfast.errors import InvalidConfiguration
from holdfast.functions import Kernel, Linear
from tests.contracts import points

KERNELS = [Kernel("rbf", 0.7), Kernel("matern", 0.6, 0.5), Kernel("matern", 0.6, 1.5), Kernel("matern", 0.6, 2.5)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_kernel_matrix_is_positive_definite_with_unit_diagonal(kernel: Kernel) -> None:
    x = points(Linear(3), 40, seed=1)
    gram = kernel.between(x, x)
    np.testing.assert_allclose(np.diag(gram), kernel.diagonal(x), atol=1e-6)
    np.testing.assert_allclose(gram, gram.T, atol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-10


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_frequencies_average_to_the_kernel(kernel: Kernel) -> None:
    """Bochner: E cos(ωᵀ(x − y)) = k(x, y)."""
    frequencies = kernel.frequencies(np.random.default_rng(2), 200_000, 2)
    x = points(Linear(2), 6, seed=3)
    angles = x @ frequencies.T
    estimate = (np.cos(angles) @ np.cos(angles).T + np.sin(angles) @ np.sin(angles).T) / len(frequencies)
    np.testing.assert_allclose(estimate, kernel.between(x, x), atol=0.01)


def test_the_matern_formulas_are_the_general_one() -> None:
    """Against the Bessel-function form 2^(1−ν)/Γ(ν)·s^ν·K_ν(s)."""
    from scipy.special import gamma, kv

    r = np.linspace(0.05, 4.0, 50)
    for nu in (0.5, 1.5, 2.5):
        s = np.sqrt(2 * nu) * r
        general = 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s)
        np.testing.assert_allclose(Kernel("matern", 1.0, nu).of_distance(r), general, rtol=1e-10)


@pytest.mark.parametrize(
    "parameters",
    [("cubic",), ("rbf", 0.0), ("rbf", float("nan")), ("matern", 0.5, 2.0)],
)
def test_an_unknown_kernel_is_refused(parameters: tuple[object, ...]) -> None:
    with pytest.raises(InvalidConfiguration):
        Kernel(*parameters)
