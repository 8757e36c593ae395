"""What rare planning saves and costs, at d 20, H 5, A 4: plans made, regret against planning every time, time."""

import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import Pool
from typing import Any, NamedTuple

import numpy as np

from holdfast.learners.mdp import Mdp, MdpSpec, Transition, build_mdp, refreshed
from holdfast_client.simulator.mdps import Problem
from tests.benchmarks.tables import table, verdict

DIMENSION, LENGTH, ACTIONS, STATES = 20, 5, 4, 60
PLANS_MAX, REGRET_MAX, SLOWER_MAX = 120, 1.15, 1.5


class Setting(NamedTuple):
    """Episodes of the long run, and of the comparison with planning every time; seeds of both."""

    long: int = 20_000
    short: int = 1_000
    seeds: int = 10


class Run(NamedTuple):
    regret: float
    plans: int
    early_us: float  # mean cost of an episode in (T/20, T/10]
    late_us: float  # and in (T/2, T]


def linear_mdp(seed: int, episodes: int) -> Problem:
    """Rewards and transitions linear in 20 features; the noise is that of all-or-nothing pay-outs."""
    rng = np.random.default_rng((seed, 5))
    features = rng.dirichlet(np.full(DIMENSION, 0.1), size=(STATES, ACTIONS))
    prototypes = rng.dirichlet(np.full(STATES, 0.1), size=DIMENSION)
    rewards = features @ rng.uniform(0.0, 1.0, size=DIMENSION) ** 3 / LENGTH
    kernels, start = features @ prototypes, np.full(STATES, 1.0 / STATES)
    function = {"kind": "linear"}
    return Problem("linear", LENGTH, features, function, rewards, kernels, 1.0 / LENGTH, start, episodes)


def run_once(job: tuple[int, int, bool]) -> Run:
    """One learner, planning when it is due or after every episode; only the learner's own time counts."""
    seed, episodes, every_time = job
    problem = linear_mdp(seed, episodes)
    mdp: Mdp[Any] = build_mdp(MdpSpec(DIMENSION, LENGTH, horizon=episodes, seed=seed))
    mdp = replace(mdp, growth=0.0) if every_time else mdp
    state, rng, regret, times = mdp.init(), np.random.default_rng((seed, 6)), 0.0, np.zeros(episodes)
    for t in range(episodes):
        x, episode = problem.begin(rng), []
        for h in range(1, LENGTH + 1):
            started = time.perf_counter()
            action = mdp.decide(state, h, problem.features[x], t * LENGTH + h).chosen
            times[t] += time.perf_counter() - started
            regret += problem.regret(h, x, action)
            reward, following = problem.step(rng, x, action)
            episode.append(Transition(h, problem.features[x, action], reward, problem.features[following]))
            x = following
        started = time.perf_counter()
        state, _ = mdp.learn(state, episode, donate=True)
        state = refreshed(mdp, state, donate=True)
        times[t] += time.perf_counter() - started
    early, late = times[episodes // 20 : episodes // 10], times[episodes // 2 :]
    return Run(regret / problem.span / episodes, state.plans, early.mean() * 1e6, late.mean() * 1e6)


def report(setting: Setting) -> Iterator[str]:
    """What it must show: issue 4, lines 3 and 4."""
    jobs = [(seed, setting.short, every_time) for every_time in (False, True) for seed in range(setting.seeds)]
    with Pool(2) as pool:
        runs = pool.map(run_once, jobs, chunksize=1)
    rarely, always = runs[: setting.seeds], runs[setting.seeds :]
    long = run_once((0, setting.long, False))  # alone: it is timed
    yield f"Planning at d = {DIMENSION}, H = {LENGTH}, {ACTIONS} candidates, {STATES} states, insured:\n"
    rows = [
        [f"{setting.short:,}, when due", _regret(rarely), _plans(rarely)],
        [f"{setting.short:,}, every episode", _regret(always), _plans(always)],
        [f"{setting.long:,}, when due", f"{long.regret:.4f}", long.plans],
    ]
    yield table(["episodes", "regret share", "plans"], rows)
    yield ""
    ratio = float(np.median([one.regret for one in rarely]) / np.median([one.regret for one in always]))
    yield f"regret of planning when due is ×{ratio:.3f} that of every episode {verdict('≤ 1.15', ratio <= REGRET_MAX)}"
    yield f"{long.plans} plans in {setting.long:,} episodes {verdict('≤ 120', long.plans <= PLANS_MAX)}"
    slower = long.late_us / long.early_us
    yield (
        f"an episode costs {long.early_us:.0f} µs over (T/20, T/10] and {long.late_us:.0f} µs over (T/2, T], plans "
        f"included: ×{slower:.2f} {verdict('≤ 1.5', slower <= SLOWER_MAX)}"
    )


def _regret(runs: list[Run]) -> str:
    return f"{np.median([run.regret for run in runs]):.4f}"


def _plans(runs: list[Run]) -> int:
    return int(np.median([run.plans for run in runs]))
