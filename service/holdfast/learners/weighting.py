"""The uncertainty weight: what makes one reward's pull bounded, whoever sent it."""

import math

from holdfast.errors import InvalidInput


def weight_of(width: float, alpha: float) -> float:
    """1/σ² with σ² = max(1, b(z)/α), eq:weight_bandit; b is taken just before z is learned.

    So b·weight ≤ α for every observation ever learned, and that is what bounds the adversary (Lemma
    lm:Confidence_Radius_for_Optimismt_bandit): no unit of corruption moves f̂(z) by more than α·b(z).

    >>> weight_of(0.5, alpha=1.0), weight_of(2.0, alpha=1.0), weight_of(2.0, alpha=float("inf"))
    (1.0, 0.5, 1.0)
    """
    if not width < math.inf:  # true for NaN too; nothing has been written yet
        raise InvalidInput("/features", "must be finite numbers")
    return 1.0 if width <= alpha else alpha / width
