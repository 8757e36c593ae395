"""What a decision and a reward cost in-process, beside bare numpy doing the same arithmetic in one flat function."""

import math
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.learners import Bandit, BanditSpec, build_bandit
from holdfast.learners.catalogue import INSURANCE, SCALE_INSURED
from tests.benchmarks.tables import table, verdict
from tests.benchmarks.timing import interleaved


class Setting(NamedTuple):
    dimensions: tuple[int, ...] = (32, 128, 512)
    options: tuple[int, ...] = (10, 100)
    warm_up: int = 2_000


class Bare:
    """The same regression, weights, radius and ranking in plain numpy, with nothing around them."""

    def __init__(self, dimension: int, ridge: float, budget: float) -> None:
        self.root, self.theta = np.eye(dimension) / math.sqrt(ridge), np.zeros(dimension)
        self.log_det, self.mass, self.squares = 0.0, 10.0, 10.0 * 0.0625
        self.certainty, self.floor, self.budget = -2.0 * math.log(0.05), math.sqrt(ridge), budget
        self.alpha, self.beta, self.potential = 0.0, 0.0, 0.0
        self._refresh()

    def _refresh(self) -> None:
        level = min(0.5, max(0.01, math.sqrt(self.squares / self.mass)))
        radius = level * math.sqrt(self.certainty + self.log_det) + self.floor
        self.alpha = max(self.alpha, INSURANCE * radius / self.budget)
        self.beta = SCALE_INSURED * radius + self.alpha * self.budget

    def decide(self, x: Array) -> tuple[Any, ...]:
        whitened = x @ self.root
        mean, bonus = x @ self.theta, self.beta * np.sqrt(np.einsum("ij,ij->i", whitened, whitened))
        score = np.minimum(mean + bonus, 1.0)
        order = np.argsort(-score, kind="stable")
        if score[order[0]] - score[order[1]] <= 1e-12:
            order = np.argsort(-np.round(np.where(score >= 1.0 - 1e-12, 1.0 + bonus, score), 12), kind="stable")
        probability = np.zeros(len(score))
        probability[order[0]] = 1.0
        return int(order[0]), order, mean, bonus, score, probability

    def learn(self, x: Array, reward: float) -> tuple[float, ...]:
        whitened = x @ self.root
        gain, squared = self.root @ whitened, float(whitened @ whitened)
        width, residual = math.sqrt(squared), reward - float(x @ self.theta)
        weight = min(1.0, self.alpha / width)
        growth = 1.0 + weight * squared
        self._step(whitened, gain, weight / (growth + math.sqrt(growth)))
        self.theta += gain * (weight * residual / growth)
        self.log_det += math.log(growth)
        trust = 1.0 / (1.0 + squared)
        self.mass += trust
        self.squares += trust * residual * residual
        d_squared = min(1.0, weight * squared)
        self.potential += d_squared
        self._refresh()
        return weight, width, d_squared, residual

    def _step(self, whitened: Array, gain: Array, factor: float) -> None:
        self.root -= np.outer(factor * gain, whitened)


def report(setting: Setting) -> Iterator[str]:
    yield (
        "Linear, insured, one at a time, one BLAS thread, learning on a donated state; µs per call, medians of "
        "interleaved blocks. Bare numpy is the same arithmetic in plain numpy, without checks.\n"
    )
    rows = [row for d in setting.dimensions for row in _measure(d, setting)]
    yield table(["d", "call", "Holdfast µs", "bare numpy µs", "ratio"], [row[:-1] for row in rows])
    worst = max(float(row[-1]) for row in rows)
    yield f"\nworst ratio ×{worst:.2f} {verdict('≤ 1.5', worst <= 1.5)}"


def _measure(d: int, setting: Setting) -> Iterator[list[Any]]:
    bandit = build_bandit(BanditSpec(dimension=d, budget=10.0))
    bare = Bare(d, bandit.function.ridge, 10.0)
    x, y = _traffic(d, setting.warm_up)
    state = bandit.init()
    for row, reward in zip(x, y, strict=True):
        state, _ = bandit.update(state, row, reward, donate=True)
        bare.learn(row, reward)
    assert np.allclose(bare.theta, state.function.theta)
    assert math.isclose(bare.beta, state.beta, rel_tol=1e-9)
    for k in setting.options:
        ours, theirs = interleaved(*_deciders(bandit, state, bare, d, k))
        yield [str(d), f"decide, K = {k}", f"{ours:.1f}", f"{theirs:.1f}", f"×{ours / theirs:.2f}", ours / theirs]
    ours, theirs = interleaved(*_teachers(bandit, state, bare, x, y))
    yield [str(d), "learn", f"{ours:.1f}", f"{theirs:.1f}", f"×{ours / theirs:.2f}", ours / theirs]


def _traffic(d: int, count: int) -> tuple[Array, list[float]]:
    rng = np.random.default_rng(d)
    x = rng.normal(size=(count, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta = rng.normal(size=d) / math.sqrt(d)
    return x, np.clip(0.5 + 2.0 * x @ theta + 0.1 * rng.normal(size=count), 0.0, 1.0).tolist()


def _deciders(
    bandit: Bandit[Any], state: Any, bare: Bare, d: int, k: int
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    rng = np.random.default_rng(k)
    batches = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(16, k, d))]
    mine, theirs = cycle(batches), cycle(batches)
    return lambda: bandit.decide(state, next(mine), 1), lambda: bare.decide(next(theirs))


def _teachers(
    bandit: Bandit[Any], state: Any, bare: Bare, x: Array, y: list[float]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    rows = list(zip(x, y, strict=True))
    mine, theirs, held = cycle(rows), cycle(rows), [state]

    def learn() -> None:
        row, reward = next(mine)
        held[0], _ = bandit.update(held[0], row, reward, donate=True)

    def learn_bare() -> None:
        row, reward = next(theirs)
        bare.learn(row, reward)

    return learn, learn_bare
