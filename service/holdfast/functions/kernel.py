"""Kernel ridge regression on an online core set of bounded size (the RKHS of Appendix E.1).

| symbol | name here  | meaning |
|--------|------------|---------|
| z_i    | `core`     | the points kept, in the order they entered |
| W      | `whitener` | inverse Cholesky factor of the core's Gram matrix; ψ(z) = W k(core, z) coordinates in its span |
| δ(z)   | `novelty`  | k(z,z) − ‖ψ(z)‖²: what the core does not explain of z |
| τ      | `leftover` | Σ δ(z_s)/σ_s² over the points that came after the core was full |

A point enters when δ(z)/min(1, λ), its squared uncertainty given the core, is above a threshold: by its *unweighted*
novelty, so that no reward steers the choice. A new coordinate leaves the old ones unchanged, so the regression itself
is plain ridge on ψ (`ridge.py`), and b² = ‖ψ‖²_{Λ⁻¹} + δ(z)/λ is eq:bonus_mdp with the points seen projected onto the
span.

Departure from eq:bonus_mdp, once the core is full: the rest of the RKHS is treated as one more direction, of squared
length δ(z), that has been seen τ times, b² = ‖ψ‖²_{Λ⁻¹} + δ(z)/(λ + τ). The exact expression would explore for ever.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import ddot

from holdfast.arrays import Array
from holdfast.checks import demand_number, demand_whole
from holdfast.functions import ridge as regression
from holdfast.functions.kernels import Kernel
from holdfast.functions.protocol import PARAMETERS_MAX, Seen, Weigh

NOVELTY_MIN = 1e-10  # below it, δ is rounding


class CoreSetState(NamedTuple):
    """What a kernel regression has learned, in arrays of fixed size of which the first `size` rows are in use."""

    core: Array  # (M, d)
    whitener: Array  # (M, M) lower triangular
    size: int
    root: Array  # (M, M)
    theta: Array  # (M,)
    leftover: float
    log_det: float


@dataclass(frozen=True)
class KernelRidge:
    """Functions in the RKHS of `kernel`, represented on at most `core_size` points."""

    dimension: int
    ridge: float = 1.0
    norm: float = 1.0
    kernel: Kernel = field(default_factory=Kernel)
    core_size: int = 200
    threshold: float = 1e-3

    def __post_init__(self) -> None:
        demand_whole("dimension", self.dimension, 1, PARAMETERS_MAX)
        demand_number("ridge", self.ridge, above=0.0)
        demand_number("norm", self.norm, above=0.0)
        demand_whole("core_size", self.core_size, 1, PARAMETERS_MAX)
        demand_number("threshold", self.threshold, above=0.0)

    @property
    def parameters(self) -> int:
        return self.core_size

    @property
    def prior_width(self) -> float:
        return 1.0

    def init(self) -> CoreSetState:
        m = self.core_size
        root = np.eye(m) / math.sqrt(self.ridge)
        return CoreSetState(np.zeros((m, self.dimension)), np.zeros((m, m)), 0, root, np.zeros(m), 0.0, 0.0)

    def evaluate(self, state: CoreSetState, x: Array) -> tuple[Array, Array]:
        psi, novelty = self._coordinates(state, x)
        m = state.size
        whitened = psi @ state.root[:m, :m]
        squared = np.einsum("ij,ij->i", whitened, whitened) + novelty / (self.ridge + state.leftover)
        return psi @ state.theta[:m], np.sqrt(squared)

    def optimism(self, state: CoreSetState, x: Array, beta: float) -> tuple[Array, Array]:
        mean, width = self.evaluate(state, x)
        return mean, beta * width

    def observe(
        self, state: CoreSetState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[CoreSetState, Seen]:
        if not donate:
            state = _copy(state)
        rows, novelty_rows = self._coordinates(state, x[None, :])
        psi, novelty = rows[0], float(novelty_rows[0])
        m = state.size
        mean, squared = float(psi @ state.theta[:m]), self._width_squared(state, psi, novelty)
        width = math.sqrt(squared)
        weight = weigh(width)
        if m == self.core_size:
            state = state._replace(leftover=state.leftover + weight * novelty)
        elif novelty > max(NOVELTY_MIN, self.threshold * min(1.0, self.ridge)):
            psi = self._enter(state, x, psi, novelty)
            state = state._replace(size=m + 1)
        return self._absorb(state, psi, y, weight), Seen(mean, width, weight)

    def confine(self, state: CoreSetState, beta: float) -> CoreSetState:
        return state

    def log_complexity(self, state: CoreSetState) -> float:
        return state.log_det + math.log1p(state.leftover / self.ridge)

    def log_covering(self, gamma: float) -> float:
        return self.core_size * math.log1p(2.0 * self.norm / gamma)

    def _coordinates(self, state: CoreSetState, x: Array) -> tuple[Array, Array]:
        """ψ `(n, size)` and δ `(n,)`."""
        m = state.size
        psi = self.kernel.between(x, state.core[:m]) @ state.whitener[:m, :m].T
        novelty = self.kernel.diagonal(x) - np.einsum("ij,ij->i", psi, psi)
        return psi, np.maximum(novelty, 0.0)

    def _width_squared(self, state: CoreSetState, psi: Array, novelty: float) -> float:
        whitened = psi @ state.root[: state.size, : state.size]
        return float(whitened @ whitened) + novelty / (self.ridge + state.leftover)

    def _enter(self, state: CoreSetState, x: Array, psi: Array, novelty: float) -> Array:
        """Append x to the core, in place; returns its coordinates in the larger span."""
        m = state.size
        pivot = math.sqrt(novelty)
        # The last row of the inverse of [[L, 0], [ψᵀ, √δ]].
        state.whitener[m, :m] = psi @ state.whitener[:m, :m] / -pivot
        state.whitener[m, m] = 1.0 / pivot
        state.core[m] = x
        return np.append(psi, pivot)

    def _absorb(self, state: CoreSetState, psi: Array, y: float, weight: float) -> CoreSetState:
        """The regression step on the coordinates in use, in place."""
        m = len(psi)
        if m == 0:  # the zero vector of a linear kernel, before anything else
            return state
        root, theta = np.ascontiguousarray(state.root[:m, :m]), state.theta[:m]
        whitened = psi.dot(root)
        squared, residual = ddot(whitened, whitened), y - ddot(psi, theta)
        growth = regression.fold(root, theta, whitened, squared, residual, weight)
        state.root[:m, :m] = root
        return state._replace(log_det=state.log_det + growth)


def _copy(state: CoreSetState) -> CoreSetState:
    return state._replace(
        core=state.core.copy(), whitener=state.whitener.copy(), root=state.root.copy(), theta=state.theta.copy()
    )
