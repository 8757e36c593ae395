"""f(z) = θᵀφ(z)."""

from dataclasses import dataclass

from holdfast.functions.ridge import RidgeOnFeatures


@dataclass(frozen=True)
class Linear(RidgeOnFeatures):
    """Linear functions of the point itself; b(z) = ‖φ‖_{Λ⁻¹} as in he2022nearly.

    >>> import numpy as np
    >>> linear = Linear(dimension=2, ridge=0.25)
    >>> mean, width = linear.evaluate(linear.init(), np.eye(2))
    >>> mean.tolist(), width.tolist()
    ([0.0, 0.0], [2.0, 2.0])
    """
