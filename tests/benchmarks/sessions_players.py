"""Who plays the sessions: Holdfast with and without insurance, and tabular Q-learning."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from holdfast.arrays import Array
from holdfast.learners.mdp import Mdp, MdpSpec, Transition, build_mdp, refreshed
from holdfast_client.simulator.mdps import END, Problem
from holdfast_client.simulator.saboteurs import Happened


class Player(Protocol):
    """What the account of regret can run."""

    def act(self, h: int, x: int, position: int) -> int: ...
    def learn(self, told: list[Happened]) -> None: ...


class Sessions:
    """Holdfast's learner, fed what a host would feed it: the steps whose reward is known."""

    def __init__(self, problem: Problem, mdp: Mdp[Any]) -> None:
        self.mdp, self.features, self.state = mdp, problem.features, mdp.init()

    def act(self, h: int, x: int, position: int) -> int:
        return self.mdp.decide(self.state, h, self.features[x], position).chosen

    def learn(self, told: list[Happened]) -> None:
        episode = [
            Transition(
                h,
                self.features[x, action],
                reward,
                None if following == END else self.features[following],
                following == END,
            )
            for h, x, action, reward, following in told
        ]
        self.state, _ = self.mdp.learn(self.state, episode, donate=True)
        self.state = refreshed(self.mdp, self.state, donate=True)


class UcbH:
    """Q-learning with Hoeffding bonuses (Jin et al. 2018), values scaled to [0, 1].

    Q ← (1 − l)Q + l(r + V' + c·sqrt(Hι/n)) with l = (H + 1)/(H + n), ι = ln(SAT/δ).
    """

    def __init__(self, problem: Problem, seed: int, scale: float = 0.01, confidence: float = 0.05) -> None:
        states, actions = problem.rewards.shape
        self.length, self.seed = problem.length, seed
        caps = [min(1.0, (self.length - h) * problem.step_max) for h in range(self.length)]
        self.values = np.vstack([np.repeat(np.array(caps)[:, None], states, axis=1), np.zeros(states)])
        self.q: Array = np.repeat(self.values[: self.length, :, None], actions, axis=2)
        self.visits = np.zeros(self.q.shape, dtype=np.int64)
        self.bonus = scale * math.sqrt(
            self.length * math.log(states * actions * problem.episodes * problem.length / confidence)
        )

    def act(self, h: int, x: int, position: int) -> int:
        q = self.q[h - 1, x]
        tied = np.flatnonzero(q >= q.max() - 1e-12)
        if len(tied) == 1:
            return int(tied[0])
        return int(np.random.default_rng((self.seed, position)).choice(tied))

    def learn(self, told: list[Happened]) -> None:
        for h, x, action, reward, following in told:
            self.visits[h - 1, x, action] += 1
            n = int(self.visits[h - 1, x, action])
            rate = (self.length + 1) / (self.length + n)
            later = 0.0 if following == END else self.values[h, following]
            target = reward + later + self.bonus / math.sqrt(n)
            self.q[h - 1, x, action] += rate * (target - self.q[h - 1, x, action])
            self.values[h - 1, x] = min(self.values[h - 1, x], self.q[h - 1, x].max())


def _spec(problem: Problem, seed: int, **changes: Any) -> MdpSpec:
    settings = {
        "dimension": problem.features.shape[2],
        "episode_length": problem.length,
        "function": problem.function,
        "horizon": problem.episodes,
        "step_max": problem.step_max,
        "seed": seed,
    }
    return MdpSpec(**{**settings, **changes})


def plain(problem: Problem, seed: int) -> Player:
    return Sessions(problem, build_mdp(_spec(problem, seed, budget=0)))


def plain_wide(problem: Problem, seed: int) -> Player:
    """Four times the radius, and the ridge that goes with it."""
    mdp = build_mdp(_spec(problem, seed, budget=0))
    beta = 4.0 * mdp.beta
    return Sessions(problem, replace(mdp, beta=beta, function=replace(mdp.function, ridge=beta**2)))  # type: ignore[type-var]


def insured(problem: Problem, seed: int) -> Player:
    return Sessions(problem, build_mdp(_spec(problem, seed)))


def insured_stationary(problem: Problem, seed: int) -> Player:
    return Sessions(problem, build_mdp(_spec(problem, seed, stationary=True)))


PLAYERS: dict[str, Callable[[Problem, int], Player]] = {
    "plain": plain,
    "plain, 4β": plain_wide,
    "UCB-H": UcbH,
    "insured": insured,
    "insured, stationary": insured_stationary,
}
