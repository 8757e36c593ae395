"""Into the unit ball, where the paper's bounds are stated."""

from typing import Literal

import numpy as np

from holdfast.arrays import Array
from holdfast.errors import InvalidInput

Normalisation = Literal["clip", "unit", "none"]
NORMALISATIONS = ("clip", "unit", "none")
LENGTH_SLACK = 1e-9  # a caller's own rounding


def normalise(phi: Array, how: Normalisation) -> Array:
    """Scale each row of `phi` (K, d).

    `clip` shortens rows longer than 1, `unit` makes every row 1 long that is not zero, `none` trusts the caller and
    refuses a longer row.

    >>> normalise(np.array([[3.0, 4.0], [0.3, 0.4]]), "clip").tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    """
    if how == "clip" and _are_short(np.vecdot(phi, phi)):
        return phi  # the usual case, and dividing by 1 changes nothing
    if how == "unit":
        phi = phi / np.where((largest := np.abs(phi).max(axis=1, initial=0.0)) > 0.0, largest, 1.0)[:, None]
    length: Array = np.sqrt(np.vecdot(phi, phi))
    if how == "none":
        if length.size and length.max() > 1.0 + LENGTH_SLACK:
            index = int(length.argmax())
            raise InvalidInput(f"/actions/{index}", "features must lie in the unit ball (normalise is none)")
        return phi
    divisor = np.maximum(length, 1.0) if how == "clip" else np.where(length > 0.0, length, 1.0)
    return phi / divisor[:, None]


def _are_short(squared: Array) -> bool:
    return not squared.size or squared.item(squared.argmax()) <= 1.0  # `argmax`: half the time of `max`
