"""What a learner may be asked about: rows of floats in the unit ball, where the paper's bounds are stated."""

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import ddot

from holdfast.checks import NUMBER_MAX, demand_number, demand_whole
from holdfast.errors import InvalidInput
from holdfast.functions.protocol import NORM_MIN, PARAMETERS_MAX

LENGTH_SLACK = 1e-9  # a caller's own rounding
_LENGTH_SQUARED_MAX = (1.0 + LENGTH_SLACK) ** 2
_DOUBLE = np.dtype(np.float64)  # compared with a type, numpy would look its dtype up each time


def demand_regression(dimension: Any, ridge: Any, norm: Any, norm_max: float = NUMBER_MAX) -> None:
    """What every regularised regression is configured with."""
    demand_whole("dimension", dimension, 1, PARAMETERS_MAX)
    demand_number("ridge", ridge, above=0.0)
    demand_number("norm", norm, least=NORM_MIN, most=norm_max)


def check_shape(x: Any, dimension: int) -> None:
    """One point `(d,)` or several `(n, d)`, n ≥ 1, in double precision."""
    fits = isinstance(x, np.ndarray) and x.dtype == _DOUBLE and x.ndim in (1, 2) and x.size > 0
    if not fits or x.shape[-1] != dimension:
        raise InvalidInput("/features", f"must be float64 rows of length {dimension}")


def check_in_unit_ball(x: Any, dimension: int) -> None:
    """Points of every class but a table: finite, and at most 1 long."""
    check_shape(x, dimension)
    rows = x.ravel()
    longest = ddot(rows, rows)  # all of them together, in BLAS, which does not warn of overflow
    if x.ndim == 2 and longest < math.inf:
        squared = np.vecdot(x, x)
        longest = squared.item(squared.argmax())  # half the time of `max`
    if not longest <= _LENGTH_SQUARED_MAX:  # true for NaN too
        raise InvalidInput("/features", "must be finite and lie in the unit ball")
