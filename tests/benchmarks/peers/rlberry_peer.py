"""rlberry-scool's UCBVI and LSVI-UCB, each in a world that keeps the account, and two of its problems."""

import logging
import time
from collections.abc import Callable

import numpy as np
from rlberry.envs.interface import Model
from rlberry.spaces import Discrete
from rlberry_scool.agents import LSVIUCBAgent, UCBVIAgent
from rlberry_scool.agents.features import FeatureMap
from rlberry_scool.envs import Chain, GridWorld

from holdfast.arrays import Array
from holdfast_client.simulator.mdps import END, Problem
from holdfast_client.simulator.saboteurs import Happened, Saboteur
from tests.benchmarks.peers.questions import Setting, grid

logging.getLogger("rlberry_logger").setLevel(logging.ERROR)


class World(Model):
    """One of our problems as its agents want it. An early end is a state of its own, in which nothing more happens.

    The agents' own loops run in it, so it notes regret, and the CPU time between one reset and the next less its own.
    """

    def __init__(self, problem: Problem, saboteur: Saboteur, episodes: int, seed: int) -> None:
        super().__init__()
        states, actions = problem.rewards.shape
        self.problem, self.saboteur, self.ended = problem, saboteur, states
        self.observation_space, self.action_space = Discrete(states + 1), Discrete(actions)
        self.reward_range = (0.0, problem.step_max)
        self.random, self.seed = np.random.default_rng((seed, 30)), seed
        self.regret, self.own_s, self.stamps = np.zeros(episodes), np.zeros(episodes), np.zeros(episodes + 1)
        self.episode, self.h, self.x = -1, 0, 0

    def reseed(self, seed_seq: object = None) -> None:
        """It has its seed."""

    def reset(self, seed: object = None, options: object = None) -> tuple[int, dict[str, object]]:
        self.h, self.x = 0, self.problem.begin(self.random)
        return self.x, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, object]]:
        started = time.thread_time()
        if self.h == 0:
            self.episode += 1
            self.stamps[self.episode] = started
        self.h += 1
        reward = 0.0
        if self.x != self.ended:
            reward = self._step(int(action))
        self.own_s[self.episode] += time.thread_time() - started
        return self.x, reward, False, False, {}

    def _step(self, action: int) -> float:
        self.regret[self.episode] += self.problem.regret(self.h, self.x, action)
        honest = Happened(self.h, self.x, action, *self.problem.step(self.random, self.x, action))
        told = self.saboteur.tell(honest, self.episode) or honest
        self.x = self.ended if told.following == END else told.following
        return told.reward

    def seconds(self) -> Array:
        """CPU time of each episode but the last, which has no end."""
        return np.diff(self.stamps[:-1]) - self.own_s[:-1]


class Features(FeatureMap):
    """The problem's own features, or a one for each cell of a table; nothing is known of the end."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        states, actions = problem.rewards.shape
        is_table = problem.function["kind"] == "tabular"
        rows = np.eye(states * actions).reshape(states, actions, -1) if is_table else problem.features
        self.rows = np.concatenate([rows, np.zeros((1, *rows.shape[1:]))])
        self.shape = (rows.shape[2],)

    def map(self, observation: int, action: int) -> Array:
        return self.rows[observation, action]


def ucbvi(world: World, setting: Setting, episodes: int) -> None:
    agent = UCBVIAgent(
        world, gamma=1.0, horizon=world.problem.length, bonus_scale_factor=setting["bonus"],
        stage_dependent=setting["stages"], copy_env=False, seeder=world.seed,
    )  # fmt: skip
    agent.v_max = np.minimum(agent.v_max, 1.0)  # as everyone else is told: a whole episode earns at most 1
    agent.reset()
    agent.fit(episodes)


def lsvi_ucb(world: World, setting: Setting, episodes: int) -> None:
    agent = LSVIUCBAgent(
        world, horizon=world.problem.length, feature_map_fn=lambda env: Features(world.problem), gamma=1.0,
        bonus_scale_factor=setting["bonus"], reg_factor=setting["ridge"], copy_env=False, seeder=world.seed,
    )  # fmt: skip
    agent.v_max = min(agent.v_max, 1.0)
    agent.fit(episodes)


AGENTS: dict[str, tuple[Callable[[World, Setting, int], None], tuple[Setting, ...]]] = {
    "rlberry UCBVI": (ucbvi, grid(bonus=(0.01, 0.1, 1.0), stages=(True, False))),
    "rlberry LSVI-UCB": (lsvi_ucb, grid(bonus=(0.01, 0.1, 1.0), ridge=(0.1, 1.0))),
}


def _as_problem(name: str, rewards: Array, kernels: Array, first: int, length: int) -> Problem:
    """Its tables of rewards and transitions, with pay-outs scaled so that an episode earns at most 1."""
    states, actions = rewards.shape
    cells = np.arange(states * actions, dtype=np.float64).reshape(states, actions, 1)
    start = np.eye(states)[first]
    function = {"kind": "tabular", "cells": states * actions}
    return Problem(name, length, cells, function, rewards / length, kernels, 1.0 / length, start, 1_000)


def chain(seed: int) -> Problem:
    env = Chain(5, 0.1)
    return _as_problem("rlberry chain", env.R, env.P, 0, 10)


def grid_world(seed: int) -> Problem:
    env = GridWorld(4, 4, walls=((1, 1),))
    return _as_problem("rlberry grid world", env.R, env.P, env.coord2index[0, 0], 10)


PROBLEMS = {"rlberry chain": chain, "rlberry grid world": grid_world}
