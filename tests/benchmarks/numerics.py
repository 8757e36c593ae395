"""How far the maintained uncertainty drifts from the truth, beside the two usual ways of keeping it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from holdfast.arrays import Array
from holdfast.functions import Linear
from holdfast.functions.ridge import widths
from holdfast.learners.weighting import weigh_with
from tests.benchmarks.tables import table, verdict
from tests.oracles import Extended, extended_widths_squared, ill_conditioned_points


class Setting(NamedTuple):
    updates: int = 1_000_000
    dimension: int = 20
    ridge: float = 0.01
    spread: float = 1e4  # of the features' standard deviations: their covariance has condition number 1e8
    alpha: float = 0.05


BLOCK = 1_000


class Rivals(NamedTuple):
    """The truth in extended precision, and the two usual ways in double."""

    gram_extended: Extended
    gram: Array
    inverse: Array


def report(setting: Setting) -> Iterator[str]:
    linear = Linear(setting.dimension, ridge=setting.ridge)
    weigh = weigh_with(setting.alpha)
    state, rivals, rng = linear.init(), _start(setting), np.random.default_rng(0)
    for _ in range(setting.updates // BLOCK):
        x = ill_conditioned_points(rng, BLOCK, setting.dimension, setting.spread)
        weights = np.empty(BLOCK)
        for i, row in enumerate(x):
            state, seen = linear.observe(state, row, 0.5, weigh, donate=True)
            weights[i] = seen.weight
            image = rivals.inverse @ row
            rivals.inverse[...] -= np.outer(image, image) * (weights[i] / (1.0 + weights[i] * (row @ image)))
            rivals.gram[...] += weights[i] * np.outer(row, row)
        wide = x.astype(np.longdouble)
        rivals.gram_extended[...] += (wide * weights[:, None]).T @ wide
    yield from _compare(setting, state.root, rivals, rng)


def _start(setting: Setting) -> Rivals:
    eye = np.eye(setting.dimension)
    return Rivals(eye.astype(np.longdouble) * setting.ridge, eye * setting.ridge, eye / setting.ridge)


def _compare(setting: Setting, root: Array, rivals: Rivals, rng: np.random.Generator) -> Iterator[str]:
    condition = np.linalg.cond(rivals.gram)
    yield (
        f"{setting.updates:,} weighted rank-one updates, d = {setting.dimension}, covariance of the features with "
        f"condition number {setting.spread**2:.0e}, Λ with {condition:.0e}. Largest relative error of b² against a "
        "fresh factorisation in extended precision:\n"
    )
    random = rng.normal(size=(500, setting.dimension))
    probes = {
        "like the data": ill_conditioned_points(rng, 500, setting.dimension, setting.spread),
        "random directions": random / np.linalg.norm(random, axis=1, keepdims=True),
    }
    rows: list[list[object]] = []
    worst, smallest = 0.0, np.inf
    for name, points in probes.items():
        truth = extended_widths_squared(rivals.gram_extended, points)
        ours = widths(root, points) ** 2
        factor = np.linalg.cholesky(rivals.gram)
        fresh = (solve_triangular(factor, points.T, lower=True) ** 2).sum(axis=0)
        maintained = np.einsum("ij,ij->i", points @ rivals.inverse, points)
        errors = [float(np.abs(b2 / truth - 1.0).max()) for b2 in (ours, maintained, fresh)]
        rows.append([name, *(f"{error:.1e}" for error in errors)])
        worst, smallest = max(worst, errors[0]), min(smallest, float(ours.min()))
    yield table(["points", "square root (Holdfast)", "maintained inverse", "fresh Cholesky in double"], rows)
    yield f"\nworst error {worst:.1e} {verdict('≤ 1e-8', worst <= 1e-8)}"
    yield f"smallest b² {smallest:.1e} {verdict('none negative', smallest >= 0.0)}"
