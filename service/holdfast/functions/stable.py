"""A kernel class with a stable bonus: the width comes from a core set sampled by sensitivity (Appendix E.2).

| symbol | name here | meaning |
|--------|-----------|---------|
| Ẑ      | `points`  | the core set: few distinct points, so the bonuses it can make are few |
| 1/p    | —         | multiplicity of a point that was kept with probability p |
| —      | `mass`    | multiplicity times weight: (1/p)/σ² |
| L⁻¹    | `factor`  | inverse Cholesky factor of K + λ·diag(1/mass) |
| —      | `rate`    | how many times its sensitivity a point is kept with |

b̂(z)² = sup_f f(z)²/(λ + ‖f‖²_{Ẑ,σ}) = (k(z, z) − ‖L⁻¹k(Ẑ, z)‖²)/λ, so Σ_Ẑ (1/p)·f²/σ² is an unbiased stand-in for the
sum over all points. A point is kept with p = min(1, rate·sensitivity), where its sensitivity
min(1, sup_f (f(z)²/σ²)/(λ + ‖f‖²)) is taken against the core set and the point itself. The draw is settled by the seed
and the number of points seen. When the core set is full, the rate is halved: every point stays with probability ½ and
twice its multiplicity.

The fit is that of `kernel.py` on its inducing points, which are chosen by *unweighted* novelty. One set must not serve
both: a lie could then steer where the fit can bend.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand_whole
from holdfast.functions.kernel import CoreSetState, KernelRidge
from holdfast.functions.protocol import PARAMETERS_MAX, SEED_MAX, Seen, Weigh

RATE = 4.0


class StableState(NamedTuple):
    """The fit on inducing points, and the core set of the bonus; the first `size` rows of its arrays are in use."""

    inducing: CoreSetState
    points: Array  # (M, d)
    mass: Array  # (M,)
    factor: Array  # (M, M) lower triangular
    size: int
    seen: int
    rate: float
    log_det: float


@dataclass(frozen=True)
class StableKernel:
    """`fit` represents the functions; at most `bonus_size` sampled points make the width."""

    fit: KernelRidge
    bonus_size: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        demand_whole("bonus_size", self.bonus_size, 2, PARAMETERS_MAX)
        demand_whole("seed", self.seed, 0, SEED_MAX)

    @property
    def ridge(self) -> float:
        return self.fit.ridge

    @property
    def dimension(self) -> int:
        return self.fit.dimension

    @property
    def parameters(self) -> int:
        return self.fit.parameters

    @property
    def norm(self) -> float:
        return self.fit.norm

    @property
    def prior_width(self) -> float:
        return self.fit.prior_width

    def check(self, x: Array) -> None:
        self.fit.check(x)

    def init(self) -> StableState:
        m = self.bonus_size
        points, factor = np.zeros((m, self.dimension)), np.zeros((m, m))
        return StableState(self.fit.init(), points, np.zeros(m), factor, 0, 0, RATE, 0.0)

    def is_sound(self, state: StableState) -> bool:
        counts = 0 <= state.size <= self.bonus_size and state.seen >= state.size and 0.0 < state.rate <= RATE
        known = bool((state.mass[: state.size] > 0.0).all()) and state.log_det >= 0.0
        return counts and known and self.fit.is_sound(state.inducing)

    def evaluate(self, state: StableState, x: Array) -> tuple[Array, Array]:
        return self.fit.evaluate(state.inducing, x)[0], self.widths(state, x)

    def optimism(self, state: StableState, x: Array, beta: float) -> tuple[Array, Array]:
        mean, width = self.evaluate(state, x)
        return mean, beta * width

    def widths(self, state: StableState, x: Array) -> Array:
        """b̂ for each row."""
        likeness = self.fit.kernel.between(x, state.points[: state.size])
        explained = likeness.dot(state.factor[: state.size, : state.size].T)
        squared = self.fit.kernel.diagonal(x) - np.vecdot(explained, explained)
        widths: Array = np.sqrt(np.maximum(squared, 0.0) / self.ridge)
        return widths

    def observe(
        self, state: StableState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[StableState, Seen]:
        width = float(self.widths(state, x[None, :])[0])
        weight = weigh(width)
        inducing, (mean, _, _) = self.fit.observe(state.inducing, x, y, lambda _: weight, donate)
        if not donate:
            state = state._replace(points=state.points.copy(), mass=state.mass.copy(), factor=state.factor.copy())
        information = weight * width * width
        state = state._replace(inducing=inducing, log_det=state.log_det + math.log1p(information))
        return self._sampled(state, x, weight, information / (1.0 + information)), Seen(mean, width, weight)

    def confine(self, state: StableState, beta: float) -> StableState:
        return state

    def log_complexity(self, state: StableState) -> float:
        return state.log_det

    def log_covering(self, gamma: float) -> float:
        return self.fit.log_covering(gamma)

    def coordinates(self, state: StableState, x: Array) -> Array:
        return self.fit.coordinates(state.inducing, x)

    def solve(self, state: StableState, moments: Array) -> Array:
        return self.fit.solve(state.inducing, moments)

    def predict(self, state: StableState, thetas: Array, x: Array) -> tuple[Array, Array]:
        return self.fit.predict(state.inducing, thetas, x)[0], self.widths(state, x)

    def axes(self, before: StableState, after: StableState) -> Array | None:
        return self.fit.axes(before.inducing, after.inducing)

    def _sampled(self, state: StableState, x: Array, weight: float, sensitivity: float) -> StableState:
        """Keep x with probability min(1, rate·sensitivity), in place, so often that it counts once on average."""
        rng = np.random.default_rng((self.seed, state.seen))
        state = state._replace(seen=state.seen + 1)
        draw, probability = rng.random(), min(1.0, state.rate * sensitivity)
        if draw >= probability:
            return state
        while state.size == self.bonus_size:
            state = self._halved(state, rng)
            probability = min(1.0, state.rate * sensitivity)
            if draw >= probability:
                return state
        return self._append(state, x, weight / probability)

    def _append(self, state: StableState, x: Array, mass: float) -> StableState:
        m = state.size
        likeness = self.fit.kernel.between(x[None, :], state.points[:m])[0]
        row = state.factor[:m, :m].dot(likeness)
        own = float(self.fit.kernel.diagonal(x[None, :])[0])
        # The Schur complement of K + λ·diag(1/mass), at least λ/mass but for rounding.
        pivot = math.sqrt(max(own - float(row.dot(row)), 0.0) + self.ridge / mass)
        state.factor[m, :m] = row.dot(state.factor[:m, :m]) / -pivot
        state.factor[m, m] = 1.0 / pivot
        state.points[m], state.mass[m] = x, mass
        return state._replace(size=m + 1)

    def _halved(self, state: StableState, rng: np.random.Generator) -> StableState:
        """Half the rate: each point stays with probability ½ and counts twice."""
        stays = rng.random(state.size) < 0.5
        thin = self.init()._replace(
            inducing=state.inducing, seen=state.seen, rate=0.5 * state.rate, log_det=state.log_det
        )
        for point, mass in zip(state.points[: state.size][stays], state.mass[: state.size][stays], strict=True):
            thin = self._append(thin, point, 2.0 * float(mass))
        return thin
