"""f(z) = φᵀMφ: the paper's example of a class with eluder dimension O(d²)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array
from holdfast.checks import demand
from holdfast.functions.ridge import RidgeOnFeatures


@dataclass(frozen=True)
class Quadratic(RidgeOnFeatures):
    """All products of two coordinates of (φ, 1); the 1 keeps linear and constant functions in the class.

    With `affine=False` the class is φᵀMφ alone. Off-diagonal products count √2, so that ‖ψ(z)‖ = ‖(φ, 1)‖²,
    divided by its largest value on the unit ball.
    """

    affine: bool = True

    def __post_init__(self) -> None:
        demand(isinstance(self.affine, bool), "affine must be true or false")
        super().__post_init__()

    @property
    def parameters(self) -> int:
        width = self.dimension + self.affine
        return width * (width + 1) // 2

    def lift(self, basis: Array, x: Array) -> Array:
        if self.affine:
            x = np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)
        rows, columns, scale = self._pairs
        products: Array = x.take(rows, axis=-1) * x.take(columns, axis=-1) * scale
        return products

    @cached_property
    def _pairs(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Array]:
        """Each unordered pair of coordinates, and the factor of its product."""
        rows, columns = np.triu_indices(self.dimension + self.affine)
        return rows, columns, np.where(rows == columns, 1.0, math.sqrt(2.0)) / (1.0 + self.affine)
