"""One free value per cell: linear on one-hot features, kept as a diagonal.

A point is the number of its cell, `x = [cell]`, so a table of a million cells costs no more per step than one of ten.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.checks import demand_whole
from holdfast.errors import InvalidInput
from holdfast.functions.points import check_shape, demand_regression
from holdfast.functions.protocol import Seen, Weigh
from holdfast.functions.ridge import ball_log_covering

CELLS_MAX = 1_000_000


class TableState(NamedTuple):
    """`root[i]` is 1/sqrt(λ + Σ 1/σ²) over the visits of cell i: the diagonal of S in `ridge.py`."""

    root: Array  # (cells,)
    theta: Array  # (cells,)
    log_det: float


@dataclass(frozen=True)
class Tabular:
    """b(z) = 1/sqrt(λ + Σ 1/σ²) of the cell."""

    cells: int
    ridge: float = 1.0
    norm: float = 1.0

    def __post_init__(self) -> None:
        demand_whole("cells", self.cells, 1, CELLS_MAX)
        demand_regression(self.dimension, self.ridge, self.norm)

    @property
    def dimension(self) -> int:
        return 1

    @property
    def parameters(self) -> int:
        return self.cells

    @property
    def prior_width(self) -> float:
        return 1.0

    def init(self) -> TableState:
        return TableState(np.full(self.cells, 1.0 / math.sqrt(self.ridge)), np.zeros(self.cells), 0.0)

    def is_sound(self, state: TableState) -> bool:
        return state.log_det >= 0.0 and bool((state.root > 0.0).all())

    def evaluate(self, state: TableState, x: Array) -> tuple[Array, Array]:
        cells = x[:, 0].astype(np.int64)
        return state.theta[cells], state.root[cells]

    def optimism(self, state: TableState, x: Array, beta: float) -> tuple[Array, Array]:
        mean, width = self.evaluate(state, x)
        return mean, beta * width

    def observe(
        self, state: TableState, x: Array, y: float, weigh: Weigh, donate: bool = False
    ) -> tuple[TableState, Seen]:
        root, theta, log_det = state
        if not donate:
            root, theta = root.copy(), theta.copy()
        cell = int(x[0])
        width, mean = float(root[cell]), float(theta[cell])
        weight = weigh(width)
        # `ridge.fold`, in one dimension.
        growth = 1.0 + weight * width * width
        gain = width * width
        root[cell] = width - weight / (growth + math.sqrt(growth)) * width * gain
        theta[cell] = mean + gain * (weight * (y - mean) / growth)
        return TableState(root, theta, log_det + math.log(growth)), Seen(mean, width, weight)

    def coordinates(self, state: TableState, x: Array) -> Array:
        psi = np.zeros((*x.shape[:-1], self.cells))
        np.put_along_axis(psi, x.astype(np.int64), 1.0, axis=-1)
        return psi

    def solve(self, state: TableState, moments: Array) -> Array:
        return moments * state.root**2

    def predict(self, state: TableState, thetas: Array, x: Array) -> tuple[Array, Array]:
        cells = x[:, 0].astype(np.int64)
        return thetas[:, cells].T, state.root[cells]

    def axes(self, before: TableState, after: TableState) -> Array | None:
        return None

    def confine(self, state: TableState, beta: float) -> TableState:
        return state

    def log_complexity(self, state: TableState) -> float:
        return state.log_det

    def log_covering(self, gamma: float) -> float:
        return ball_log_covering(self.cells, self.norm, gamma)

    def check(self, x: Array) -> None:
        check_shape(x, 1)
        if not ((x >= 0.0) & (x < self.cells) & (x == np.floor(x))).all():  # false for NaN too
            raise InvalidInput("/features", f"a cell must be a whole number from 0 to {self.cells - 1:,}")
