"""Sessions to learn in: small MDPs whose best values are known, so that every action has its regret.

All are given as tables over the states; a learner sees only the features of the candidates. A whole episode earns at
most 1.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast_client.simulator.problems import Array

END = -1  # nothing follows


@dataclass(frozen=True)
class Problem:
    """`rewards[x, a]` is the mean, `kernels[x, a]` the distribution of the next state; what is missing from 1 ends it.

    `final` has the rewards of the last step where these differ. `noise` 0 means pay-outs of all or nothing.
    """

    name: str
    length: int
    features: Array  # (S, A, d)
    function: dict[str, Any]
    rewards: Array  # (S, A)
    kernels: Array  # (S, A, S)
    step_max: float
    start: Array  # (S,)
    episodes: int
    best: Array = field(init=False)  # Q_*^h(x, a), (H + 1, S, A)
    random_value: float = field(init=False)
    cumulative: Array = field(init=False)  # of `kernels`, (S, A, S)
    start_cumulative: Array = field(init=False)

    def __post_init__(self) -> None:
        states, actions = self.rewards.shape
        best, uniform = np.zeros((self.length + 1, states, actions)), np.zeros(states)
        for h in range(self.length - 1, -1, -1):
            best[h] = self.rewards + self.kernels @ best[h + 1].max(axis=1)
            uniform = (self.rewards + self.kernels @ uniform).mean(axis=1)
        object.__setattr__(self, "best", best)
        object.__setattr__(self, "random_value", float(self.start @ uniform))
        object.__setattr__(self, "cumulative", np.cumsum(self.kernels, axis=2))
        object.__setattr__(self, "start_cumulative", np.cumsum(self.start))

    @property
    def span(self) -> float:
        """What a random session loses to the best one."""
        return float(self.start @ self.best[0].max(axis=1)) - self.random_value

    def begin(self, rng: np.random.Generator) -> int:
        return int(self.start_cumulative.searchsorted(rng.random(), side="right"))

    def step(self, rng: np.random.Generator, x: int, action: int) -> tuple[float, int]:
        """A pay-out of `step_max` or nothing, and the next state."""
        reward = self.step_max if rng.random() * self.step_max < self.rewards[x, action] else 0.0
        following = int(self.cumulative[x, action].searchsorted(rng.random(), side="right"))
        return reward, following if following < len(self.rewards) else END

    def regret(self, h: int, x: int, action: int) -> float:
        """V_*^h(x) − Q_*^h(x, a)."""
        values = self.best[h - 1, x]
        return float(values.max() - values[action])


def _cells(states: int, actions: int) -> tuple[Array, dict[str, Any]]:
    cells = np.arange(states * actions, dtype=np.float64).reshape(states, actions, 1)
    return cells, {"kind": "tabular", "cells": states * actions}


def _from(states: int, first: int) -> Array:
    start = np.zeros(states)
    start[first] = 1.0
    return start


def river_swim(seed: int) -> Problem:
    """Swimming right against the stream pays at the far end; drifting left pays a little at once."""
    states, length = 5, 8
    kernels, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for x in range(states):
        kernels[x, 0, max(0, x - 1)] = 1.0
        ahead, back = (0.6 if x == 0 else 0.35), (0.0 if x == 0 else 0.05)
        kernels[x, 1, min(states - 1, x + 1)] += ahead
        kernels[x, 1, max(0, x - 1)] += back
        kernels[x, 1, x] += 1.0 - ahead - back
    rewards[0, 0], rewards[-1, 1] = 0.05 / length, 1.0 / length
    features, function = _cells(states, 2)
    start = _from(states, 0)
    return Problem("river swim", length, features, function, rewards, kernels, 1.0 / length, start, 1_000)


def deep_sea(seed: int) -> Problem:
    """One of 2^N paths pays: always the right way, which is another button in every cell and slips once in N times."""
    size = 5
    index = {(row, column): row * (row + 1) // 2 + column for row in range(size) for column in range(row + 1)}
    states, rng = len(index), np.random.default_rng((seed, 1))
    kernels, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for (row, column), x in index.items():
        right = int(rng.integers(2))
        if row == size - 1:
            rewards[x, right] = (1.0 - 1.0 / size) if column == row else 0.0
            continue
        kernels[x, 1 - right, index[row + 1, max(0, column - 1)]] = 1.0
        kernels[x, right, index[row + 1, column + 1]] = 1.0 - 1.0 / size
        kernels[x, right, index[row + 1, max(0, column - 1)]] += 1.0 / size
    features, function = _cells(states, 2)
    return Problem("deep sea", size, features, function, rewards, kernels, 1.0, _from(states, 0), 3_000)


def combination_lock(seed: int) -> Problem:
    """One of three buttons is right at each place; a wrong one, or bad luck, and nothing more can be earned."""
    length, actions, luck = 5, 3, 0.8
    states, rng = length + 1, np.random.default_rng((seed, 2))
    kernels, rewards = np.zeros((states, actions, states)), np.zeros((states, actions))
    dead = length
    kernels[:, :, dead] = 1.0
    for x in range(length):
        right = int(rng.integers(actions))
        if x == length - 1:
            rewards[x, right] = luck
        else:
            kernels[x, right] = 0.0
            kernels[x, right, [x + 1, dead]] = luck, 1.0 - luck
    features, function = _cells(states, actions)
    return Problem("combination lock", length, features, function, rewards, kernels, 1.0, _from(states, 0), 2_000)


def random_linear(seed: int) -> Problem:
    """Rewards and transitions are linear in mixtures φ(x, a) of d prototypes: the paper's linear MDP."""
    states, actions, d, length = 15, 4, 8, 4
    rng = np.random.default_rng((seed, 3))
    features = rng.dirichlet(np.full(d, 0.15), size=(states, actions))
    prototypes = rng.dirichlet(np.full(states, 0.1), size=d)
    rewards = features @ rng.uniform(0.0, 1.0, size=d) ** 3 / length
    start = np.full(states, 1.0 / states)
    kernels = features @ prototypes
    return Problem("random linear", length, features, {"kind": "linear"}, rewards, kernels, 1.0 / length, start, 1_000)


def recommender(seed: int) -> Problem:
    """Five screens for a reader with an interest and a patience: bait is clicked now and costs the rest of the session.

    Every interest likes one of three kinds of articles; bait lowers patience, a good article restores it, and readers
    without patience leave.
    """
    interests, patience, actions, length = 4, 3, 4, 5
    rng = np.random.default_rng((seed, 4))
    states = interests * patience
    liked = rng.integers(3, size=interests)
    kernels, rewards = np.zeros((states, actions, states)), np.zeros((states, actions))
    for i in range(interests):
        for p in range(patience):
            for a in range(actions):
                x, bait, good = i * patience + p, a == 3, a == liked[i]
                rewards[x, a] = (0.55 if bait else 0.45 if good else 0.15) * (0.4 + 0.3 * p) / length
                stays = (0.3, 0.8, 1.0)[p] if bait or not good else 1.0
                then = max(0, p - 1) if not good else min(patience - 1, p + 1)
                for other in range(interests):
                    kernels[x, a, other * patience + then] += stays * (0.85 * (other == i) + 0.15 / interests)
    eye_i, eye_p = np.eye(interests * actions), np.eye(patience * actions)
    features = np.array(
        [
            [np.concatenate([eye_i[i * actions + a], eye_p[p * actions + a]]) / np.sqrt(2.0) for a in range(actions)]
            for i in range(interests)
            for p in range(patience)
        ]
    )
    start = np.zeros(states)
    start[1::patience] = 1.0 / interests
    return Problem("recommender", length, features, {"kind": "linear"}, rewards, kernels, 1.0 / length, start, 1_000)


PROBLEMS = {
    "river swim": river_swim,
    "deep sea": deep_sea,
    "combination lock": combination_lock,
    "random linear": random_linear,
    "recommender": recommender,
}
