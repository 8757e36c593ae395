"""Random Fourier features of an RBF or Matérn kernel: a fixed, cheap stand-in for the RKHS of Appendix E.1."""

import math
from dataclasses import dataclass, field

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_whole
from holdfast.functions.kernels import Kernel
from holdfast.functions.protocol import PARAMETERS_MAX, SEED_MAX
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
        demand(self.kernel.kind != "linear", "random Fourier features need an rbf or matern kernel")
        demand_whole("frequencies", self.frequencies, 1, PARAMETERS_MAX // 2)
        demand_whole("seed", self.seed, 0, SEED_MAX)
        super().__post_init__()

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
