"""From means and bonuses to a decision: greedy under optimism, with ties settled by the seed and the position.

Both learners rank with it: the bandit with a cap of 1, a step of an episode with what can still be earned.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array
from holdfast.errors import InvalidInput

ROUNDING_DIGITS = 12
ROUNDING = 10.0**-ROUNDING_DIGITS  # candidates closer than this differ by the order of additions, not by evidence

Order = npt.NDArray[np.intp]


class Draw(NamedTuple):
    """What settles a random choice: `default_rng((seed, position))`, and how often it is a uniform one."""

    seed: int
    position: int
    floor: float = 0.0


class Decision(NamedTuple):
    """The full ranking. All arrays are in the order of the candidates given.

    `order` lists them as they are to be shown: the chosen one, then the others from the best score down.
    """

    chosen: int
    order: Order
    mean: Array
    bonus: Array
    score: Array
    probability: Array


def rank(mean: Array, bonus: Array, cap: float, draw: Draw, top: int = 1) -> Decision:
    """The decision that follows from means and bonuses alone; nothing is worth more than `cap`."""
    if not isinstance(draw.position, int) or draw.position < 0:
        raise InvalidInput("/position", "must be a whole number, 0 or more")
    score = mean + bonus
    if score.item(score.argmax()) > cap:  # seldom, once something was learned
        np.minimum(score, cap, out=score)  # eqn:confidence_set_mdp: 1 ∧ (f̂ + βb)
    order = (-score).argsort(kind="stable")
    if draw.floor or _tie_among_first(top, score, order):
        return _rank_tied(mean, bonus, score, cap, draw, top)
    return _greedy(order, mean, bonus, score)


def rank_all(mean: Array, bonus: Array, cap: float, first: Draw) -> list[Decision]:
    """`rank` of each row of `mean` and `bonus` (n, K > 1) at successive positions, where one action is to be shown."""
    score = np.minimum(mean + bonus, cap)
    order, tied = _order_all(score)
    if tied.any():
        by_key, still_tied = _order_all(_tie_key(bonus, score, cap))
        order = np.where(tied[:, None], by_key, order)
        tied &= still_tied
    probability = np.zeros(score.shape)
    probability[np.arange(len(score)), order[:, 0]] = 1.0
    chosen = order[:, 0].tolist()
    return [
        _rank_tied(mean[i], bonus[i], score[i], cap, first._replace(position=first.position + i), 1)
        if drawn
        else Decision(chosen[i], order[i], mean[i], bonus[i], score[i], probability[i])
        for i, drawn in enumerate(tied.tolist())
    ]


def _rank_tied(mean: Array, bonus: Array, score: Array, cap: float, draw: Draw, top: int) -> Decision:
    """At the cap the larger bonus goes first, then the seeded generator; the floor mixes in a uniform choice."""
    key = _tie_key(bonus, score, cap)
    order = (-key).argsort(kind="stable")
    if not draw.floor and not _tie_among_first(top, key, order):
        return _greedy(order, mean, bonus, score)
    rng = np.random.default_rng((draw.seed, draw.position))
    order = np.lexsort((rng.random(len(key)), -key))
    if not draw.floor:
        return _greedy(order, mean, bonus, score)
    tied = key == key[order[0]]
    probability = np.where(tied, (1.0 - draw.floor) / tied.sum(), 0.0)
    probability += draw.floor / len(key)
    if rng.random() < draw.floor:
        order = _moved_to_front(order, int(rng.integers(len(key))))
    return Decision(int(order[0]), order, mean, bonus, score, probability)


def _greedy(order: Order, mean: Array, bonus: Array, score: Array) -> Decision:
    chosen = order.item(0)
    probability = np.zeros(len(score))
    probability[chosen] = 1.0
    return Decision(chosen, order, mean, bonus, score, probability)


def _order_all(key: Array) -> tuple[Order, npt.NDArray[np.bool_]]:
    """Each row from its best down, and whether its best is tied."""
    order = (-key).argsort(axis=1, kind="stable")
    rows = np.arange(len(key))
    return order, key[rows, order[:, 0]] - key[rows, order[:, 1]] <= ROUNDING


def _tie_among_first(top: int, key: Array, order: Order) -> bool:
    """Whether who is among the first `top`, or in which order, hangs on a tie."""
    if top == 1 < len(order):
        return key.item(order.item(0)) - key.item(order.item(1)) <= ROUNDING
    return any(key[order[i]] - key[order[i + 1]] <= ROUNDING for i in range(min(top, len(order) - 1)))


def _tie_key(bonus: Array, score: Array, cap: float) -> Array:
    """What to rank by when scores tie, the normal case early on: equal where only rounding differs."""
    key = score.copy()
    np.add(cap, bonus, out=key, where=score >= cap - ROUNDING)
    return key.round(ROUNDING_DIGITS, out=key)


def _moved_to_front(order: Order, index: int) -> Order:
    return np.concatenate([[index], order[order != index]])
