"""The uncertainty weight: what makes one reward's pull bounded, whoever sent it."""

from holdfast.functions.protocol import Weigh


def weigh_with(alpha: float) -> Weigh:
    """The rule b(z) → 1/σ² with σ² = max(1, b(z)/α), eq:weight_bandit; b is taken just before z is learned.

    So b·weight ≤ α for every observation ever learned, and that is what bounds the adversary (Lemma
    lm:Confidence_Radius_for_Optimismt_bandit): no unit of corruption moves f̂(z) by more than α·b(z).

    >>> [weigh_with(alpha=1.0)(width) for width in (0.5, 1.0, 2.0)]
    [1.0, 1.0, 0.5]
    >>> weigh_with(alpha=float("inf"))(2.0)
    1.0
    """

    def weigh(width: float) -> float:
        return 1.0 if width <= alpha else alpha / width

    return weigh
