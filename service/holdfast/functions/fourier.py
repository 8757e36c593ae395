"""Random Fourier features of an RBF or Matérn kernel: a fixed, cheap stand-in for the RKHS of Appendix E.1."""

import math
from dataclasses import dataclass, field

import numpy as np

from holdfast.arrays import Array
from holdfast.errors import InvalidConfiguration
from holdfast.functions.kernels import Kernel
from holdfast.functions.ridge import RidgeOnFeatures


@dataclass(frozen=True)
class Fourier(RidgeOnFeatures):
    """ψ(z) = (cos ωᵢᵀz, sin ωᵢᵀz)/√n for n frequencies ω, so that ‖ψ(z)‖ = 1 exactly.

    The frequencies are part of the state: a saved learner keeps them, whatever numpy draws from a seed tomorrow.
    """

    kernel: Kernel = field(default_factory=Kernel)
    frequencies: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kernel.kind == "linear":
            raise InvalidConfiguration("random Fourier features need an rbf or matern kernel")

    @property
    def parameters(self) -> int:
        return 2 * self.frequencies

    def init_basis(self) -> Array:
        return self.kernel.frequencies(np.random.default_rng(self.seed), self.frequencies, self.dimension)

    def lift(self, basis: Array, x: Array) -> Array:
        angle = x @ basis.T
        features: Array = np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)
        features /= math.sqrt(self.frequencies)
        return features
