"""Kernel ridge regression on an online core set of bounded size (the RKHS of Appendix E.1).

| symbol | name here   | meaning |
|--------|-------------|---------|
| c_i    | `core`      | the points kept, in the order they entered |
| W      | `whitener`  | inverse Cholesky factor of the core's Gram matrix; ψ(z) = W k(core, z): coordinates in it |
| δ(z)   | `novelty`   | k(z,z) − ‖ψ(z)‖²: what the core does not explain of z |
| τ_i    | `leftover`  | Σ δ(z_s)/σ_s² over the points that did not enter and were most like c_i |
| ν      | `threshold` | how much of a point may stay unexplained, in units of squared width |
| τ_M    | `homeless`  | Σ δ(z_s)/σ_s² over novel points that came when the core was full and ν at its largest |

A point enters the core when δ(z) > ν·min(1, λ): by its *unweighted* novelty, so that no reward steers the choice. A new
coordinate leaves the old ones unchanged, so the regression itself is plain ridge on ψ (`ridge.py`). When the core is
full, ν doubles and the core is thinned to what is still novel among itself (`_thin`); the fit and the information are
projected onto the smaller span, which makes no weighted width larger, so the bias bound survives.

Departure from eq:bonus_mdp: what the core leaves of z is taken as one more direction, seen as often as points like z
left something: b² = ‖ψ‖²_{Λ⁻¹} + δ(z)/(λ + Σ_i k(z, c_i)² τ_i + τ_M/M). With ν → 0 it is the exact width. A width can
grow when the core changes, by no more than ν in squares. A space that M points cannot represent even at the largest ν
runs out of novelty after M times as many visits (τ_M), instead of being explored for ever.
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
from holdfast.functions.points import check_in_unit_ball, demand_regression
from holdfast.functions.protocol import PARAMETERS_MAX, Seen, Weigh

NOVELTY_MIN = 1e-10  # below it, δ is rounding
THRESHOLD_MAX = 0.5


class CoreSetState(NamedTuple):
    """What a kernel regression has learned, in arrays of fixed size of which the first `size` rows are in use."""

    core: Array  # (M, d)
    whitener: Array  # (M, M) lower triangular
    root: Array  # (M, M)
    theta: Array  # (M,)
    leftover: Array  # (M,)
    size: int
    threshold: float
    homeless: float
    log_det: float


_ARRAYS = ("core", "whitener", "root", "theta", "leftover")


class View(NamedTuple):
    """Points as the core sees them."""

    likeness: Array  # (n, size) k(z, c_i)
    psi: Array  # (n, size)
    novelty: Array  # (n,)


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
        demand_regression(self.dimension, self.ridge, self.norm)
        demand_whole("core_size", self.core_size, 1, PARAMETERS_MAX)
        demand_number("threshold", self.threshold, above=0.0, most=THRESHOLD_MAX)

    @property
    def parameters(self) -> int:
        return self.core_size

    @property
    def prior_width(self) -> float:
        return 1.0

    def check(self, x: Array) -> None:
        check_in_unit_ball(x, self.dimension)

    def init(self) -> CoreSetState:
        m = self.core_size
        root, whitener = np.eye(m) / math.sqrt(self.ridge), np.zeros((m, m))
        core, theta, leftover = np.zeros((m, self.dimension)), np.zeros(m), np.zeros(m)
        return CoreSetState(core, whitener, root, theta, leftover, 0, self.threshold, 0.0, 0.0)

    def is_sound(self, state: CoreSetState) -> bool:
        inside = 0 <= state.size <= self.core_size and self.threshold <= state.threshold <= 2.0 * THRESHOLD_MAX
        return inside and min(state.log_det, state.homeless) >= 0.0 and bool((state.leftover >= 0.0).all())

    def evaluate(self, state: CoreSetState, x: Array) -> tuple[Array, Array]:
        view = self._view(state, x)
        return view.psi.dot(state.theta[: state.size]), np.sqrt(self._widths_squared(state, view))

    def optimism(self, state: CoreSetState, x: Array, beta: float) -> tuple[Array, Array]:
        mean, width = self.evaluate(state, x)
        return mean, beta * width

    def observe(
        self, state: CoreSetState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[CoreSetState, Seen]:
        if not donate:
            state = state._replace(**{name: getattr(state, name).copy() for name in _ARRAYS})
        view = self._view(state, x[None, :])
        mean = float(view.psi[0].dot(state.theta[: state.size]))
        width = math.sqrt(self._widths_squared(state, view)[0])
        weight = weigh(width)
        if view.novelty[0] > self._bar(state) and state.size == self.core_size:
            state = self._thinned(state)
            view = self._view(state, x[None, :])
        psi, novelty = view.psi[0], float(view.novelty[0])
        if novelty > (self._bar(state) if state.size else NOVELTY_MIN) and state.size < self.core_size:
            psi = self._enter(state, x, psi, novelty)
            state = state._replace(size=state.size + 1)
        elif novelty > self._bar(state):
            state = state._replace(homeless=state.homeless + weight * novelty)
        elif state.size:
            state.leftover[view.likeness[0].argmax()] += weight * novelty
        return self._absorb(state, psi, y, weight), Seen(mean, width, weight)

    def coordinates(self, state: CoreSetState, x: Array) -> Array:
        view = self._view(state, np.atleast_2d(x))
        psi = np.zeros((len(view.psi), self.core_size))
        psi[:, : state.size] = view.psi
        return psi.reshape(*x.shape[:-1], self.core_size)

    def solve(self, state: CoreSetState, moments: Array) -> Array:
        solved: Array = moments.dot(state.root).dot(state.root.T)
        return solved

    def predict(self, state: CoreSetState, thetas: Array, x: Array) -> tuple[Array, Array]:
        view = self._view(state, x)
        return view.psi.dot(thetas[:, : state.size].T), np.sqrt(self._widths_squared(state, view))

    def axes(self, before: CoreSetState, after: CoreSetState) -> Array | None:
        if after.threshold == before.threshold:
            return None
        n, m = before.size, after.size
        axes = np.zeros((self.core_size, self.core_size))
        axes[:n, :m] = self._view(before, after.core[:m]).psi.T.dot(after.whitener[:m, :m].T)  # as in `_projected`
        if not (before.core[:n] == after.core[m - 1]).all(axis=1).any():
            axes[:, m - 1] = 0.0  # the point that entered after the thinning: nothing was seen along its axis
        return axes

    def confine(self, state: CoreSetState, beta: float) -> CoreSetState:
        return state

    def log_complexity(self, state: CoreSetState) -> float:
        unexplained = np.append(state.leftover, state.homeless)
        return state.log_det + float(np.log1p(unexplained / self.ridge).sum())

    def log_covering(self, gamma: float) -> float:
        return regression.ball_log_covering(self.core_size, self.norm, gamma)

    def _bar(self, state: CoreSetState) -> float:
        """The novelty above which a point enters."""
        return max(NOVELTY_MIN, state.threshold * min(1.0, self.ridge))

    def _view(self, state: CoreSetState, x: Array) -> View:
        m = state.size
        likeness = self.kernel.between(x, state.core[:m])
        psi = likeness.dot(state.whitener[:m, :m].T)
        return View(likeness, psi, np.maximum(self.kernel.diagonal(x) - np.vecdot(psi, psi), 0.0))

    def _widths_squared(self, state: CoreSetState, view: View) -> Array:
        m = state.size
        whitened = view.psi.dot(state.root[:m, :m])
        seen = (view.likeness**2).dot(state.leftover[:m]) + state.homeless / self.core_size
        squared: Array = np.vecdot(whitened, whitened) + view.novelty / (self.ridge + seen)
        return squared

    def _enter(self, state: CoreSetState, x: Array, psi: Array, novelty: float) -> Array:
        """Append x to the core, in place; returns its coordinates in the larger span."""
        m = state.size
        pivot = math.sqrt(novelty)
        # The last row of the inverse of [[L, 0], [ψᵀ, √δ]].
        state.whitener[m, :m] = psi.dot(state.whitener[:m, :m]) / -pivot
        state.whitener[m, m] = 1.0 / pivot
        state.core[m] = x
        return np.append(psi, pivot)

    def _absorb(self, state: CoreSetState, psi: Array, y: float, weight: float) -> CoreSetState:
        """The regression step on the coordinates in use, in place."""
        m = len(psi)
        if m == 0:  # no point so far had any length
            return state
        root, theta = np.ascontiguousarray(state.root[:m, :m]), state.theta[:m]
        whitened = psi.dot(root)
        squared, residual = ddot(whitened, whitened), y - ddot(psi, theta)
        growth = regression.fold(root, theta, whitened, squared, residual, weight)
        state.root[:m, :m] = root
        return state._replace(log_det=state.log_det + growth)

    def _thinned(self, state: CoreSetState) -> CoreSetState:
        """The same knowledge on a core with room again, at a threshold doubled as often as that takes."""
        thin, threshold = state, state.threshold
        while thin.size == self.core_size and threshold < THRESHOLD_MAX:
            threshold *= 2.0
            thin = self._chosen_again(state, threshold)
        return self._projected(state, thin) if thin.size < self.core_size else state._replace(threshold=threshold)

    def _chosen_again(self, state: CoreSetState, threshold: float) -> CoreSetState:
        """The core that the old core's points, in their order, would make at this threshold."""
        thin = self.init()._replace(threshold=threshold)
        for point in state.core[: state.size]:
            view = self._view(thin, point[None, :])
            if view.novelty[0] > self._bar(thin):
                self._enter(thin, point, view.psi[0], float(view.novelty[0]))
                thin = thin._replace(size=thin.size + 1)
        return thin

    def _projected(self, old: CoreSetState, thin: CoreSetState) -> CoreSetState:
        """Λ ← QᵀΛQ and Λθ̂ ← QᵀΛθ̂, where the columns of Q are the new coordinates' axes in the old ones."""
        m, n = thin.size, old.size
        axes = self._view(old, thin.core[:m]).psi.T.dot(thin.whitener[:m, :m].T)  # Q (n, m), orthonormal
        information = np.linalg.inv(old.root[:n, :n].dot(old.root[:n, :n].T))
        shrunk = axes.T.dot(information).dot(axes)
        # S with SSᵀ = (QᵀΛQ)⁻¹ is the inverse transpose of its Cholesky factor.
        thin.root[:m, :m] = np.linalg.inv(np.linalg.cholesky(0.5 * (shrunk + shrunk.T))).T
        moment = axes.T.dot(information.dot(old.theta[:n]))
        thin.theta[:m] = thin.root[:m, :m].dot(thin.root[:m, :m].T.dot(moment))
        nearest = self.kernel.between(old.core[:n], thin.core[:m]).argmax(axis=1)
        np.add.at(thin.leftover, nearest, old.leftover[:n])
        sign_and_log = np.linalg.slogdet(shrunk / self.ridge)
        return thin._replace(homeless=old.homeless, log_det=max(old.log_det, float(sign_and_log[1])))
