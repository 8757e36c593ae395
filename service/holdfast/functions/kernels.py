"""The two kernels of Holdfast, as functions of distance and as distributions of frequencies.

RBF: k(r) = exp(−r²/2ℓ²). Matérn with smoothness ν ∈ {1/2, 3/2, 5/2}: a polynomial in r/ℓ times an exponential.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_number

KernelKind = Literal["rbf", "matern", "linear"]
MATERN_SMOOTHNESS = (0.5, 1.5, 2.5)


@dataclass(frozen=True)
class Kernel:
    """k(z, z') with k(z, z) = 1, except `linear`, whose k is the inner product."""

    kind: KernelKind = "rbf"
    length_scale: float = 0.5
    smoothness: float = 2.5

    def __post_init__(self) -> None:
        demand(self.kind in ("rbf", "matern", "linear"), "kernel must be rbf, matern or linear")
        demand_number("length_scale", self.length_scale, above=0.0)
        demand(self.smoothness in MATERN_SMOOTHNESS, "smoothness must be 0.5, 1.5 or 2.5")

    def between(self, x: Array, points: Array) -> Array:
        """`(n, d)` and `(m, d)` → `(n, m)`."""
        inner = x @ points.T
        if self.kind == "linear":
            return inner
        squared = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", points, points) - 2.0 * inner
        return self.of_distance(np.sqrt(np.maximum(squared, 0.0)) / self.length_scale)

    def of_distance(self, r: Array) -> Array:
        """k as a function of the distance in units of the length scale."""
        if self.kind == "rbf":
            return np.exp(-0.5 * r * r)
        s = math.sqrt(2.0 * self.smoothness) * r
        if self.smoothness == 0.5:
            return np.exp(-s)
        if self.smoothness == 1.5:
            return (1.0 + s) * np.exp(-s)
        return (1.0 + s + s * s / 3.0) * np.exp(-s)

    def diagonal(self, x: Array) -> Array:
        """k(z, z) for each row."""
        if self.kind == "linear":
            squared: Array = np.einsum("ij,ij->i", x, x)
            return squared
        return np.ones(len(x))

    def frequencies(self, rng: np.random.Generator, count: int, dimension: int) -> Array:
        """Draws from the kernel's spectral measure (Bochner): normal for RBF, Student t with 2ν degrees for Matérn."""
        normal = rng.standard_normal((count, dimension)) / self.length_scale
        if self.kind == "rbf":
            return normal
        degrees = 2.0 * self.smoothness
        scaled: Array = normal * np.sqrt(degrees / rng.chisquare(degrees, (count, 1)))
        return scaled
