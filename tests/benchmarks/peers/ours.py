"""Learners without a package: Holdfast in-process, and the two textbook rivals, written here in bare numpy."""

import math
from typing import Any

import numpy as np

from holdfast.arrays import Array
from holdfast.learners import BanditSpec, build_bandit
from tests.benchmarks.peers.questions import Entry, Learner, Question, Setting, Shape, grid

CONFIDENCE = 0.05
REFIT_GROWTH = 1.1  # the robust fit starts over whenever the history has grown by a tenth
REFIT_ROUNDS = 5
REFIT_FIRST = 20


class Holdfast:
    """The learner of the service, fed as its host feeds it, with the constants it has everywhere."""

    def __init__(self, shape: Shape, budget: float | str, horizon: int, seed: int) -> None:
        self.bandit = build_bandit(
            BanditSpec(dimension=shape.dimension, budget=budget, horizon=horizon, seed=seed)  # type: ignore[arg-type]
        )
        self.state = self.bandit.init()

    def choose(self, asked: Question, t: int) -> int:
        return self.bandit.decide(self.state, asked.rows, t).chosen

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        self.state, _ = self.bandit.update(self.state, asked.rows[chosen], reward, donate=True)


class Oful:
    """OFUL (Abbasi-Yadkori et al. 2011): β = R·sqrt(2 ln(1/δ) + ln det Λ/λ^d) + sqrt(λ)·S with S = 1."""

    def __init__(self, shape: Shape, noise: float, ridge: float) -> None:
        self.inverse, self.theta = np.eye(shape.dimension) / ridge, np.zeros(shape.dimension)
        self.noise, self.ridge, self.log_det = noise, ridge, 0.0

    def choose(self, asked: Question, t: int) -> int:
        beta = self.noise * math.sqrt(-2.0 * math.log(CONFIDENCE) + self.log_det) + math.sqrt(self.ridge)
        widths = np.sqrt(np.maximum(np.vecdot(asked.rows @ self.inverse, asked.rows), 0.0))
        return int((asked.rows @ self.theta + beta * widths).argmax())

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        self.fold(asked.rows[chosen], reward, 1.0)

    def fold(self, x: Array, reward: float, weight: float) -> None:
        gain = self.inverse @ x
        growth = 1.0 + weight * float(x @ gain)
        self.inverse -= np.outer(gain, gain) * (weight / growth)
        self.theta += gain * (weight * (reward - float(x @ self.theta)) / growth)
        self.log_det += math.log(growth)


class Huber:
    """LinUCB on a robust regression: a residual beyond `cut` pulls no harder than one at `cut`.

    Between refits a reward gets its weight min(1, cut/|residual|) when it comes; a refit weighs the whole history anew
    (iteratively reweighted least squares), so that early weights, made when nothing was known, do not stay.
    """

    def __init__(self, shape: Shape, noise: float, ridge: float, cut: float) -> None:
        self.fit, self.shape, self.cut, self.due = Oful(shape, noise, ridge), shape, cut, REFIT_FIRST
        self.seen: list[Array] = []
        self.told: list[float] = []

    def choose(self, asked: Question, t: int) -> int:
        return self.fit.choose(asked, t)

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        x = asked.rows[chosen]
        self.seen.append(x)
        self.told.append(reward)
        residual = abs(reward - float(x @ self.fit.theta))
        self.fit.fold(x, reward, 1.0 if len(self.seen) <= REFIT_FIRST else self._weight(residual))
        if len(self.seen) >= self.due:
            self._refit()
            self.due = math.ceil(REFIT_GROWTH * self.due)

    def _weight(self, residual: Any) -> Any:
        return np.minimum(1.0, self.cut / np.maximum(residual, 1e-12))

    def _refit(self) -> None:
        x, y, fit = np.array(self.seen), np.array(self.told), self.fit
        for _ in range(REFIT_ROUNDS):
            weights = self._weight(np.abs(y - x @ fit.theta))
            information = fit.ridge * np.eye(self.shape.dimension) + (x * weights[:, None]).T @ x
            fit.inverse = np.linalg.inv(information)
            fit.theta = fit.inverse @ (x.T @ (weights * y))
        fit.log_det = float(np.linalg.slogdet(information / fit.ridge)[1])


INSURED, UNINSURED, AUTO = "Holdfast insured", "Holdfast uninsured", "Holdfast auto"
HOLDFAST = (INSURED, AUTO, UNINSURED)


def _oful(shape: Shape, setting: Setting, seed: int) -> Learner:
    return Oful(shape, setting["noise"], setting["ridge"])


def _huber(shape: Shape, setting: Setting, seed: int) -> Learner:
    return Huber(shape, setting["noise"], setting["ridge"], setting["cut"])


TEXTBOOK = {
    "OFUL": Entry(_oful, grid(noise=(0.05, 0.1, 0.5), ridge=(0.1, 1.0))),
    "Huber LinUCB": Entry(_huber, grid(noise=(0.05, 0.1, 0.5), ridge=(0.1, 1.0), cut=(0.2,))),
}


def holdfast(name: str, shape: Shape, budget: float, horizon: int, seed: int) -> Learner:
    """Insured for exactly what the attacker has, for what `auto` makes of the horizon, or for nothing."""
    insured: dict[str, float | str] = {INSURED: budget, AUTO: "auto", UNINSURED: 0}
    return Holdfast(shape, insured[name], horizon, seed)
