"""An explicit list of candidate functions {f_1 … f_N}: Algorithm 1 to the letter, the yardstick for the others.

| symbol | name here   | meaning |
|--------|-------------|---------|
| 𝓕_t    | `alive`     | the functions still in the nested confidence set |
| f̂_t    | `best`      | index of the weighted least-squares fit over 𝓕_{t−1} |
| —      | `loss`      | Σ (f_i(z_s) − r_s)²/σ_s² |
| —      | `distance`  | Σ (f_i(z_s) − f_j(z_s))²/σ_s², so that no history is needed |
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array
from holdfast.checks import demand, demand_number
from holdfast.functions.points import check_in_unit_ball
from holdfast.functions.protocol import PARAMETERS_MAX, Seen, Weigh

CANDIDATES_MAX = 2_000
WEIGHT_MAX = 1_000.0
_RULE = f"candidates must be a list of 1 to {CANDIDATES_MAX:,} weight vectors"


class FiniteState(NamedTuple):
    """Losses and distances of all candidates, and which are still possible."""

    candidates: Array  # (N, d)
    loss: Array  # (N,)
    distance: Array  # (N, N)
    alive: npt.NDArray[np.bool_]  # (N,)
    best: int


@dataclass(frozen=True)
class Finite:
    """Candidate weight vectors θ_i with f_i(z) = θ_iᵀφ(z)."""

    candidates: tuple[tuple[float, ...], ...]
    ridge: float = 1.0

    def __post_init__(self) -> None:
        rows = self.candidates
        demand(isinstance(rows, tuple | list) and all(isinstance(row, tuple | list) for row in rows), _RULE)
        demand(1 <= len(rows) <= CANDIDATES_MAX and 1 <= len(rows[0]) <= PARAMETERS_MAX, _RULE)
        demand(all(len(row) == len(rows[0]) for row in rows), "candidates must all have the same length")
        for value in (value for row in rows for value in row):
            demand_number("each weight of a candidate", value, least=-WEIGHT_MAX, most=WEIGHT_MAX)
        demand_number("ridge", self.ridge, above=0.0)

    @property
    def dimension(self) -> int:
        return len(self.candidates[0])

    @property
    def parameters(self) -> int:
        return max(1, min(len(self.candidates) - 1, self.dimension))

    @property
    def norm(self) -> float:
        return 0.0  # the fit is not regularised

    @property
    def prior_width(self) -> float:
        return 1.0

    def check(self, x: Array) -> None:
        check_in_unit_ball(x, self.dimension)

    def init(self) -> FiniteState:
        n = len(self.candidates)
        return FiniteState(
            np.array(self.candidates, dtype=np.float64), np.zeros(n), np.zeros((n, n)), np.ones(n, dtype=bool), 0
        )

    def is_sound(self, state: FiniteState) -> bool:
        known = np.array_equal(state.candidates, np.array(self.candidates, dtype=np.float64))
        return known and 0 <= state.best < len(self.candidates) and bool(state.alive[state.best])

    def evaluate(self, state: FiniteState, x: Array) -> tuple[Array, Array]:
        values = x @ state.candidates.T
        mean = values[:, state.best]
        ratios = np.abs(values - mean[:, None]) / np.sqrt(self.ridge + state.distance[state.best])
        return mean, ratios[:, state.alive].max(axis=1)  # eq:bonus_mdp, the sup by enumeration

    def optimism(self, state: FiniteState, x: Array, beta: float) -> tuple[Array, Array]:
        values = x @ state.candidates.T
        mean = values[:, state.best]
        # f_t = argmax over 𝓕_t (Algorithm 1, line 6), not f̂ + βb.
        return mean, values[:, state.alive].max(axis=1) - mean

    def observe(
        self, state: FiniteState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[FiniteState, Seen]:
        mean, width = self.evaluate(state, x[None, :])
        weight = weigh(float(width[0]))
        loss, distance = (state.loss, state.distance) if donate else (state.loss.copy(), state.distance.copy())
        values = state.candidates @ x
        loss += weight * (values - y) ** 2
        distance += weight * (values[:, None] - values) ** 2
        best = int(np.where(state.alive, loss, np.inf).argmin())  # eqn:weighted_regression over 𝓕_{t−1}
        seen = Seen(float(mean[0]), float(width[0]), weight)
        return state._replace(loss=loss, distance=distance, best=best), seen

    def confine(self, state: FiniteState, beta: float) -> FiniteState:
        # eqn:confidence_set
        return state._replace(alive=state.alive & (state.distance[state.best] <= beta * beta))

    def log_complexity(self, state: FiniteState) -> float:
        return 2.0 * math.log(len(self.candidates))

    def log_covering(self, gamma: float) -> float:
        return math.log(len(self.candidates))
