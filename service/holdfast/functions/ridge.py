"""Weighted ridge regression on a feature map: the engine of every class that is linear in its parameters.

| symbol | name here | meaning |
|--------|-----------|---------|
| Λ      | —         | λI + Σ φφᵀ/σ², never stored |
| S      | `root`    | the one owner of the truth: a square root of the inverse, S Sᵀ = Λ⁻¹ |
| θ̂      | `theta`   | the weighted ridge solution |
| ln det | `log_det` | ln det(Λ)/det(λI) |

Why a square root of the inverse, updated by Potter's rule (1963), and no periodic refresh: b² = ‖Sᵀφ‖² cannot
become negative, and its error grows with the square root of Λ's condition number. After 10⁶ updates at condition
number 10⁷ it agrees with extended precision hundreds of times better than a fresh double-precision Cholesky
factorisation of Λ does (`make bench`), so there is nothing a refresh could improve.

`.dot`, `vecdot` and BLAS's `ddot` instead of `@` and `einsum`: at these sizes the call is most of the cost.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import ddot, dger

from holdfast.arrays import Array
from holdfast.checks import demand_whole
from holdfast.functions.points import check_in_unit_ball, demand_regression
from holdfast.functions.protocol import PARAMETERS_MAX, Seen, Weigh


class RidgeState(NamedTuple):
    """What a ridge regression has learned."""

    basis: Array  # whatever the feature map needs and must outlive the process; (0,) if nothing
    root: Array  # (m, m)
    theta: Array  # (m,)
    log_det: float


def fold(root: Array, theta: Array, whitened: Array, width_squared: float, residual: float, weight: float) -> float:
    """Add φ with this weight, in place, given `whitened` = Sᵀφ. Returns the growth of ln det Λ."""
    gain = root.dot(whitened)  # Λ⁻¹φ
    growth = 1.0 + weight * width_squared
    # Potter: S ← S − w/(g + √g) · (Λ⁻¹φ)(Sᵀφ)ᵀ with g = 1 + w·b². `root.T` is the same memory in BLAS's order.
    dger(-weight / (growth + math.sqrt(growth)), whitened, gain, a=root.T, overwrite_a=True)
    # θ̂ ← θ̂ + Λ_new⁻¹ φ w (y − f̂)   (eqn:weighted_regression, one step)
    gain *= weight * residual / growth
    theta += gain
    return math.log(growth)


def widths(root: Array, phi: Array) -> Array:
    """b(z) = ‖φ‖_{Λ⁻¹} = ‖Sᵀφ‖ for each row of `phi` (n, m)."""
    whitened = phi.dot(root)
    squared: Array = np.vecdot(whitened, whitened)
    return np.sqrt(squared, out=squared)


def ball_log_covering(parameters: int, norm: float, gamma: float) -> float:
    """A ball of radius B in m dimensions has a γ-cover of (1 + 2B/γ)^m points."""
    return parameters * math.log1p(2.0 * norm / gamma)


@dataclass(frozen=True)
class RidgeOnFeatures:
    """f(z) = θᵀψ(z) for a feature map ψ of m features with ‖ψ(z)‖ ≤ 1 on the unit ball."""

    dimension: int
    ridge: float = 1.0
    norm: float = 1.0

    def __post_init__(self) -> None:
        demand_regression(self.dimension, self.ridge, self.norm)
        demand_whole("the number of parameters", self.parameters, 1, PARAMETERS_MAX)

    @property
    def parameters(self) -> int:
        return self.dimension

    @property
    def prior_width(self) -> float:
        return 1.0

    def init_basis(self) -> Array:
        """What the feature map needs to keep."""
        return np.empty(0)

    def lift(self, basis: Array, x: Array) -> Array:
        """ψ: `(n, d)` → `(n, m)`, or `(d,)` → `(m,)`."""
        return x

    def check(self, x: Array) -> None:
        check_in_unit_ball(x, self.dimension)

    def init(self) -> RidgeState:
        m = self.parameters
        return RidgeState(self.init_basis(), np.eye(m) / math.sqrt(self.ridge), np.zeros(m), 0.0)

    def is_sound(self, state: RidgeState) -> bool:
        return state.log_det >= 0.0

    def evaluate(self, state: RidgeState, x: Array) -> tuple[Array, Array]:
        phi = self.lift(state.basis, x)
        return phi.dot(state.theta), widths(state.root, phi)

    def optimism(self, state: RidgeState, x: Array, beta: float) -> tuple[Array, Array]:
        phi = self.lift(state.basis, x)
        bonus = widths(state.root, phi)
        bonus *= beta
        return phi.dot(state.theta), bonus

    def observe(
        self, state: RidgeState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[RidgeState, Seen]:
        basis, root, theta, log_det = state
        if not donate:
            root, theta = root.copy(), theta.copy()
        phi = self.lift(basis, x)
        whitened = phi.dot(root)
        squared = ddot(whitened, whitened)
        mean, width = ddot(phi, theta), math.sqrt(squared)
        weight = weigh(width)
        log_det += fold(root, theta, whitened, squared, y - mean, weight)
        return RidgeState(basis, root, theta, log_det), Seen(mean, width, weight)

    def coordinates(self, state: RidgeState, x: Array) -> Array:
        return self.lift(state.basis, x)

    def solve(self, state: RidgeState, moments: Array) -> Array:
        solved: Array = moments.dot(state.root).dot(state.root.T)
        return solved

    def predict(self, state: RidgeState, thetas: Array, x: Array) -> tuple[Array, Array]:
        psi = self.lift(state.basis, x)
        return psi.dot(thetas.T), widths(state.root, psi)

    def axes(self, before: RidgeState, after: RidgeState) -> Array | None:
        return None

    def confine(self, state: RidgeState, beta: float) -> RidgeState:
        return state

    def log_complexity(self, state: RidgeState) -> float:
        return state.log_det

    def log_covering(self, gamma: float) -> float:
        return ball_log_covering(self.parameters, self.norm, gamma)
