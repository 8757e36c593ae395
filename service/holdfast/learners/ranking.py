"""From means and bonuses to a decision: greedy under optimism, with ties settled by the seed and the position.

Both learners rank with it: the bandit with a cap of 1, a step of an episode with what can still be earned.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array, cuts
from holdfast.errors import InvalidInput

ROUNDING_DIGITS = 12
ROUNDING = 10.0**-ROUNDING_DIGITS  # candidates closer than this differ by the order of additions, not by evidence

Order = npt.NDArray[np.intp]


class Draw(NamedTuple):
    """What settles a random choice: `default_rng((seed, position))`, and how often it is a uniform one."""

    seed: int
    position: int
    floor: float = 0.0


class Ranking(NamedTuple):
    """A decision in plain values: the candidates in the order of `order`."""

    chosen: int
    order: list[int]
    mean: list[float]
    bonus: list[float]
    score: list[float]
    probability: list[float]


class Decision(NamedTuple):
    """The full ranking. All arrays are in the order of the candidates given.

    `order` lists them as they are to be shown: the chosen one, then the others from the best score down. In shadow mode
    another one is chosen, and `order` still says what online would have done.
    """

    chosen: int
    order: Order
    mean: Array
    bonus: Array
    score: Array
    probability: Array

    def ranking(self) -> Ranking:
        columns = (self.mean, self.bonus, self.score, self.probability)
        return Ranking(self.chosen, self.order.tolist(), *(column[self.order].tolist() for column in columns))


class Decisions(NamedTuple):
    """Several, each array with the candidates of all of them: those of one decision, then those of the next."""

    counts: Sequence[int]  # of candidates
    chosen: list[int]
    order: Order
    mean: Array
    bonus: Array
    score: Array
    probability: Array

    def parts(self, sizes: Sequence[int]) -> "Iterator[Decisions]":
        """The first so many of them, then the next."""
        counts = [self.counts[start:end] for start, end in cuts(sizes)]
        for some, (start, end), (first, last) in zip(counts, cuts(sizes), cuts(map(sum, counts)), strict=True):
            columns = [column[first:last] for column in (self.mean, self.bonus, self.score, self.probability)]
            yield Decisions(some, self.chosen[start:end], self.order[first:last], *columns)

    def places(self) -> Order:
        """Where in the arrays the candidates of each are, as they are to be shown."""
        if len(self.counts) == 1:
            return self.order
        counts = np.array(self.counts)
        places: Order = self.order + (counts.cumsum() - counts).repeat(counts)
        return places

    def orders(self) -> list[list[int]]:
        """The candidates of each as they are to be shown."""
        order = self.order.tolist()
        return [order[start:end] for start, end in cuts(self.counts)]

    def rankings(self) -> list[Ranking]:
        if min(self.counts) != max(self.counts):
            return [self._one(index, *cut).ranking() for index, cut in enumerate(cuts(self.counts))]
        shape = len(self.counts), self.counts[0]
        order, places = self.order.reshape(shape), self.places().reshape(shape)
        columns = np.array((self.mean, self.bonus, self.score, self.probability)).take(places, axis=1)
        return list(map(Ranking._make, zip(self.chosen, order.tolist(), *columns.tolist(), strict=True)))

    def _one(self, index: int, start: int, end: int) -> Decision:
        columns = (self.mean, self.bonus, self.score, self.probability)
        return Decision(self.chosen[index], self.order[start:end], *(column[start:end] for column in columns))


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


def rank_all(
    mean: Array, bonus: Array, counts: Sequence[int], cap: float, first: Draw, tops: Sequence[int]
) -> Decisions:
    """`rank` of so many candidates each, at successive positions; at once where that is possible."""
    if len(counts) == 1:
        one = rank(mean, bonus, cap, first, tops[0])
        return Decisions(counts, [one.chosen], one.order, one.mean, one.bonus, one.score, one.probability)
    if min(counts) == max(counts) > 1 and set(tops) == {1} and not first.floor:
        return _rank_alike(mean.reshape(len(counts), -1), bonus.reshape(len(counts), -1), cap, first)
    ranked = [
        rank(mean[start:end], bonus[start:end], cap, _later(first, place), top)
        for place, ((start, end), top) in enumerate(zip(cuts(counts), tops, strict=True))
    ]
    each, *columns = zip(*ranked, strict=True)
    return Decisions(counts, list(each), *map(np.concatenate, columns))


def _rank_alike(mean: Array, bonus: Array, cap: float, first: Draw) -> Decisions:
    """Each row (n, K > 1), where one action is to be shown."""
    score = np.minimum(mean + bonus, cap)
    order, tied = _ordered(score)
    if tied.any():
        key = np.where(tied[:, None], _tie_key(bonus, score, cap), score)
        order, still_tied = _ordered(key)
        for place in (tied & still_tied).nonzero()[0].tolist():
            order[place] = _drawn(key[place], _generator(_later(first, place)))
    best = order[:, 0]
    probability = np.zeros(score.shape)
    probability[np.arange(len(best)), best] = 1.0
    counts, chosen = [mean.shape[1]] * len(mean), best.tolist()
    columns = (column.ravel() for column in (mean, bonus, score, probability))
    return Decisions(counts, chosen, order.ravel(), *columns)


def _rank_tied(mean: Array, bonus: Array, score: Array, cap: float, draw: Draw, top: int) -> Decision:
    """At the cap the larger bonus goes first, then the seeded generator; the floor mixes in a uniform choice."""
    key = _tie_key(bonus, score, cap)
    order = (-key).argsort(kind="stable")
    if not draw.floor and not _tie_among_first(top, key, order):
        return _greedy(order, mean, bonus, score)
    rng = _generator(draw)
    order = _drawn(key, rng)
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


def _later(first: Draw, places: int) -> Draw:
    return first._replace(position=first.position + places)


def _generator(draw: Draw) -> np.random.Generator:
    return np.random.default_rng((draw.seed, draw.position))


def _drawn(key: Array, rng: np.random.Generator) -> Order:
    """From the best key down, equal ones in the order of their lots."""
    order: Order = np.lexsort((rng.random(len(key)), -key))
    return order


def _ordered(key: Array) -> tuple[Order, npt.NDArray[np.bool_]]:
    """Of each row: from the best key down, and whether the second is as good as the first."""
    order: Order = (-key).argsort(axis=1, kind="stable")
    best = key[np.arange(len(key))[:, None], order[:, :2]]
    tied: npt.NDArray[np.bool_] = best[:, 0] - best[:, 1] <= ROUNDING
    return order, tied


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
