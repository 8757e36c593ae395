"""f(z) = μ(θᵀφ(z)) with the logistic link μ: a generalised linear class for rates and clicks.

| symbol | name here | meaning |
|--------|-----------|---------|
| u      | `score`   | θ̂ᵀφ, held within ±B |
| μ'     | `slope`   | the derivative of the link at u |
| H      | —         | λI + Σ μ'²φφᵀ/σ², kept as the square root `root` of its inverse (`ridge.py`) |

The fit is one online Newton step per observation on the weighted squared loss; it keeps no history. The curvature of
past observations is frozen at the slope they had when they were learned: the usual approximation of online Newton.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import ddot
from scipy.special import expit

from holdfast.arrays import Array
from holdfast.functions import ridge as regression
from holdfast.functions.points import check_in_unit_ball, demand_regression
from holdfast.functions.protocol import Seen, Weigh
from holdfast.functions.ridge import RidgeState

NORM_MAX = 20.0  # beyond it the slope of the link is lost in rounding


@dataclass(frozen=True)
class Logistic:
    """Logistic functions of the point; `norm` bounds |θᵀφ|, so means stay within μ(±norm)."""

    dimension: int
    ridge: float = 1.0
    norm: float = 4.0

    def __post_init__(self) -> None:
        demand_regression(self.dimension, self.ridge, self.norm, NORM_MAX)

    @property
    def parameters(self) -> int:
        return self.dimension

    @property
    def prior_width(self) -> float:
        return 0.25  # μ'(0)

    def check(self, x: Array) -> None:
        check_in_unit_ball(x, self.dimension)

    def init(self) -> RidgeState:
        d = self.dimension
        return RidgeState(np.empty(0), np.eye(d) / math.sqrt(self.ridge), np.zeros(d), 0.0)

    def is_sound(self, state: RidgeState) -> bool:
        return state.log_det >= 0.0

    def evaluate(self, state: RidgeState, x: Array) -> tuple[Array, Array]:
        mean = expit(np.clip(x @ state.theta, -self.norm, self.norm))
        # b(z) = ‖μ'(u)φ‖_{H⁻¹}
        return mean, mean * (1.0 - mean) * regression.widths(state.root, x)

    def optimism(self, state: RidgeState, x: Array, beta: float) -> tuple[Array, Array]:
        mean, width = self.evaluate(state, x)
        return mean, beta * width

    def observe(
        self, state: RidgeState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[RidgeState, Seen]:
        basis, root, theta, log_det = state
        if not donate:
            root, theta = root.copy(), theta.copy()
        score = max(-self.norm, min(self.norm, float(x @ theta)))
        mean = 1.0 / (1.0 + math.exp(-score))
        # Newton on (y − μ(θᵀφ))²: the gradient direction of the prediction is μ'φ.
        whitened = (x * (mean * (1.0 - mean))).dot(root)
        squared = ddot(whitened, whitened)
        width = math.sqrt(squared)
        weight = weigh(width)
        log_det += regression.fold(root, theta, whitened, squared, y - mean, weight)
        self._hold(theta, x)
        return RidgeState(basis, root, theta, log_det), Seen(mean, width, weight)

    def confine(self, state: RidgeState, beta: float) -> RidgeState:
        return state

    def log_complexity(self, state: RidgeState) -> float:
        return state.log_det

    def log_covering(self, gamma: float) -> float:
        # μ is 1/4-Lipschitz, so a 4γ-cover of the scores is a γ-cover of the functions.
        return regression.ball_log_covering(self.dimension, self.norm, 4.0 * gamma)

    def _hold(self, theta: Array, x: Array) -> None:
        """Bring θᵀφ back within ±B, in place: past it the slope is lost and later evidence could not undo the step."""
        score, length = ddot(theta, x), ddot(x, x)
        beyond = score - max(-self.norm, min(self.norm, score))
        if beyond != 0.0:
            theta -= x * (beyond / length)
