"""The two kernels of Holdfast, as functions of distance and as distributions of frequencies.

RBF: k(r) = exp(−r²/2ℓ²). Matérn with smoothness ν ∈ {1/2, 3/2, 5/2}: a polynomial in r/ℓ times an exponential.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand, demand_choice, demand_number

KernelKind = Literal["rbf", "matern", "linear"]
ROUNDING = 1e-14
LENGTH_SCALE_MIN, LENGTH_SCALE_MAX = 1e-4, 1e4
MATERN_SMOOTHNESS = (0.5, 1.5, 2.5)


@dataclass(frozen=True)
class Kernel:
    """k(z, z') with k(z, z) = 1, except `linear`, whose k is the inner product."""

    kind: KernelKind = "rbf"
    length_scale: float = 0.5
    smoothness: float = 2.5

    def __post_init__(self) -> None:
        demand_choice("kernel", self.kind, ("rbf", "matern", "linear"))
        demand_number("length_scale", self.length_scale, above=LENGTH_SCALE_MIN, most=LENGTH_SCALE_MAX)
        known = isinstance(self.smoothness, float) and self.smoothness in MATERN_SMOOTHNESS
        demand(known, "smoothness must be 0.5, 1.5 or 2.5")

    def between(self, x: Array, points: Array) -> Array:
        """`(n, d)` and `(m, d)` → `(n, m)`."""
        inner = x @ points.T
        if self.kind == "linear":
            return inner
        lengths = np.vecdot(x, x)[:, None] + np.vecdot(points, points)
        squared = lengths - 2.0 * inner
        squared[squared < ROUNDING * lengths] = 0.0  # a point is at distance 0 from itself, not at √ε
        return self.of_distance(np.sqrt(squared) / self.length_scale)

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
            squared: Array = np.vecdot(x, x)
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
