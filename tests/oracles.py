"""Slow, independent answers to compare with: direct transcriptions and extended precision."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from holdfast.arrays import Array

Extended = npt.NDArray[np.longdouble]


def extended_cholesky(matrix: Extended) -> Extended:
    """The lower Cholesky factor in extended precision."""
    lower = matrix.copy()
    for j in range(len(lower)):
        lower[j, j] = np.sqrt(lower[j, j] - lower[j, :j] @ lower[j, :j])
        lower[j + 1 :, j] = (lower[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return np.tril(lower)


def extended_widths_squared(matrix: Extended, points: Array) -> Array:
    """zᵀΛ⁻¹z for each row, from a fresh factorisation of Λ in extended precision."""
    lower = extended_cholesky(matrix)
    solved = points.astype(np.longdouble).T.copy()
    for i in range(len(lower)):
        solved[i] = (solved[i] - lower[i, :i] @ solved[:i]) / lower[i, i]
    return (solved * solved).sum(axis=0).astype(np.float64)


def ill_conditioned_points(rng: np.random.Generator, count: int, dimension: int, spread: float) -> Array:
    """Unit vectors whose principal components differ in scale by `spread`, in a fixed rotated basis."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(dimension, dimension)))[0]
    scales = np.logspace(0.0, -np.log10(spread), dimension)
    x = (rng.normal(size=(count, dimension)) * scales) @ rotation.T
    unit: Array = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit


@dataclass
class AlgorithmOne:
    """alg:ucb_nonlinear_bandit over an explicit list of functions, with its whole history and no cleverness."""

    candidates: Array  # (N, d): f_i(z) = θ_iᵀz
    ridge: float
    alpha: float
    beta: float
    history: list[tuple[Array, float, float]] = field(default_factory=list)  # z, r, σ²
    possible: list[int] = field(default_factory=list)  # 𝓕_{t−1}

    def __post_init__(self) -> None:
        self.possible = list(range(len(self.candidates)))

    def stage(self) -> int:
        """Lines 4 and 5: the weighted fit f̂_t over 𝓕_{t−1}, then 𝓕_t. Returns f̂_t."""
        losses = {i: sum((self.value(i, z) - r) ** 2 / s2 for z, r, s2 in self.history) for i in self.possible}
        best = min(self.possible, key=lambda i: losses[i])
        self.possible = [i for i in self.possible if self.in_sample(i, best) <= self.beta**2]
        return best

    def act(self, options: Array) -> int:
        """Line 6: the action on which the most optimistic function of 𝓕_t is largest."""
        return max(range(len(options)), key=lambda a: max(self.value(i, options[a]) for i in self.possible))

    def width(self, z: Array, best: int) -> float:
        """The sup of eq:weight_bandit without 1/α."""
        return max(
            abs(self.value(i, z) - self.value(best, z)) / np.sqrt(self.ridge + self.in_sample(i, best))
            for i in self.possible
        )

    def learn(self, z: Array, reward: float, best: int) -> float:
        """Line 7. Returns σ²."""
        sigma_squared = max(1.0, self.width(z, best) / self.alpha)
        self.history.append((z, reward, sigma_squared))
        return sigma_squared

    def value(self, i: int, z: Array) -> float:
        return float(sum(self.candidates[i][k] * z[k] for k in range(len(z))))

    def in_sample(self, i: int, j: int) -> float:
        return sum((self.value(i, z) - self.value(j, z)) ** 2 / s2 for z, _, s2 in self.history)


@dataclass
class AlgorithmTwo:
    """alg:ucb_nonlinear_mdp for linear functions, with its whole history and a fresh inverse for every step.

    With `stationary`, the history of every step is the history of all.
    """

    ridge: float
    alpha: float
    beta: float
    caps: list[float]  # cap_1 … cap_H
    dimension: int
    stationary: bool = False
    history: list[list[tuple[Array, float, Array | None, float]]] = field(default_factory=list)  # z, r, x', σ²

    def __post_init__(self) -> None:
        self.length = len(self.caps)
        self.history = [[] for _ in range(self.length)]
        self.stage()

    def of_step(self, h: int) -> list[tuple[Array, float, Array | None, float]]:
        return self.history[0 if self.stationary else h - 1]

    def stage(self) -> None:
        """Lines 4 to 8: f^h for h = H … 1, from every transition seen."""
        self.fits: dict[int, tuple[Array, Array]] = {}
        for h in range(self.length, 0, -1):
            information, moment = self.ridge * np.eye(self.dimension), np.zeros(self.dimension)
            for z, reward, following, sigma_squared in self.of_step(h):
                y = reward + (0.0 if following is None else self.value(h + 1, following))
                information += np.outer(z, z) / sigma_squared
                moment += z * y / sigma_squared
            inverse = np.linalg.inv(information)
            self.fits[h] = inverse, inverse @ moment

    def value(self, h: int, options: Array) -> float:
        """max over the candidates of f^h = clip(f̂ + βb, 0, cap_h); f^{H+1} = 0."""
        if h > self.length:
            return 0.0
        inverse, theta = self.fits[h]
        return max(
            min(self.caps[h - 1], max(0.0, float(z @ theta + self.beta * np.sqrt(z @ inverse @ z)))) for z in options
        )

    def learn(self, h: int, z: Array, reward: float, following: Array | None) -> float:
        """Line 11. Returns σ²."""
        information = self.ridge * np.eye(self.dimension)
        for past, _, _, past_sigma_squared in self.of_step(h):
            information += np.outer(past, past) / past_sigma_squared
        width = float(np.sqrt(z @ np.linalg.inv(information) @ z))
        sigma_squared = max(1.0, width / self.alpha)
        self.of_step(h).append((z, reward, following, sigma_squared))
        return sigma_squared
