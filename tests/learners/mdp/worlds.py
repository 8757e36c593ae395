"""Small random MDPs whose states have different numbers of candidates, and sessions played in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.arrays import Array
from holdfast.functions import Linear
from holdfast.learners.mdp import Mdp, MdpState, Transition


@dataclass(frozen=True)
class World:
    """`steps[h][x][a]` is the mean reward and the distribution of the next state; `options[x]` are the candidates."""

    options: list[Array]
    rewards: list[list[Array]]
    kernels: list[list[Array]]
    length: int

    @property
    def states(self) -> int:
        return len(self.options)

    def step(self, rng: np.random.Generator, h: int, x: int, action: int) -> tuple[float, int]:
        mean = self.rewards[h - 1][x][action]
        reward = min(1.0 / self.length, max(0.0, mean + 0.1 / self.length * rng.normal()))
        return reward, int(rng.choice(self.states, p=self.kernels[h - 1][x][action]))

    def best_values(self) -> Array:
        """V_*^h(x) by dynamic programming, (H + 1, S)."""
        values = np.zeros((self.length + 1, self.states))
        for h in range(self.length - 1, -1, -1):
            for x in range(self.states):
                values[h, x] = (self.rewards[h][x] + self.kernels[h][x] @ values[h + 1]).max()
        return values


def world(seed: int, states: int = 4, actions: int = 3, length: int = 3, dimension: int | None = 5) -> World:
    """Without a dimension, the candidates are numbered: cells of a table."""
    rng = np.random.default_rng(seed)
    counts = [int(rng.integers(1, actions + 1)) for _ in range(states)]
    firsts = np.cumsum([0, *counts])
    if dimension is None:
        options = [np.arange(firsts[x], firsts[x + 1], dtype=np.float64)[:, None] for x in range(states)]
    else:
        options = [rng.normal(size=(count, dimension)) for count in counts]
        options = [rows / np.linalg.norm(rows, axis=1, keepdims=True) * 0.9 for rows in options]
    rewards = [[rng.uniform(0.0, 1.0 / length, size=count) for count in counts] for _ in range(length)]
    kernels = [[rng.dirichlet(np.ones(states), size=count) for count in counts] for _ in range(length)]
    return World(options, rewards, kernels, length)


def one_hot(numbered: World) -> World:
    """The same world with each cell as a unit vector."""
    eye = np.eye(sum(len(rows) for rows in numbered.options))
    options = [eye[rows[:, 0].astype(int)] for rows in numbered.options]
    return World(options, numbered.rewards, numbered.kernels, numbered.length)


def session(place: World, mdp: Mdp[Any], state: MdpState, rng: np.random.Generator, position: int) -> list[Transition]:
    """One episode as the learner plays it; the state after the last step is seen, as a caller may tell it."""
    x, episode = int(rng.integers(place.states)), []
    for h in range(1, place.length + 1):
        action = mdp.decide(state, h, place.options[x], position + h).chosen
        reward, following = place.step(rng, h, x, action)
        episode.append(Transition(h, place.options[x][action], reward, place.options[following]))
        x = following
    return episode


def wander(place: World, count: int, seed: int) -> Iterator[list[Transition]]:
    """Episodes of random actions, the same whoever learns from them."""
    idle = Mdp(Linear(place.options[0].shape[1]), place.length, alpha=1.0, beta=1.0)
    rng = np.random.default_rng(seed)
    for _ in range(count):
        x, episode = int(rng.integers(place.states)), []
        for h in range(1, idle.length + 1):
            action = int(rng.integers(len(place.options[x])))
            reward, following = place.step(rng, h, x, action)
            episode.append(Transition(h, place.options[x][action], reward, place.options[following]))
            x = following
        yield episode
