"""Sessions: CR-LSVI-UCB beside rlberry-scool's learners and UCB-H: regret, and what an episode costs as they go on."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from multiprocessing import Pool
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast_client.simulator import mdps
from holdfast_client.simulator.mdps import END, Problem
from holdfast_client.simulator.saboteurs import ATTACKS, Happened, Saboteur
from tests.benchmarks.peers.questions import Setting as Point
from tests.benchmarks.peers.questions import described
from tests.benchmarks.sessions_players import PLAYERS, Player
from tests.benchmarks.tables import table

OURS = {"Holdfast insured": "insured", "Holdfast insured, stationary": "insured, stationary"}
OURS |= {"Holdfast uninsured": "plain", "UCB-H": "UCB-H"}
OWN_PROBLEMS = ("river swim", "deep sea", "recommender")
SLOW = "rlberry LSVI-UCB"  # goes over all of the past for every episode
TUNING_SEED = 1_000


class Setting(NamedTuple):
    """Episodes of everyone, and of the one whose episodes get ever slower."""

    episodes: int = 1_000
    slow_episodes: int = 60
    seeds: int = 5
    tuning_seeds: int = 2


class Job(NamedTuple):
    problem: str
    attack: str
    player: str
    point: Point
    seed: int
    episodes: int


class Run(NamedTuple):
    """Of each episode: regret as a share of what a random one loses, and the learner's CPU time."""

    regret: Array
    seconds: Array


def rlberry() -> Any:
    """The module about it, or None; why not is said in the report."""
    try:
        return import_module("tests.benchmarks.peers.rlberry_peer")
    except ImportError:
        return None


def problems() -> dict[str, Callable[[int], Problem]]:
    ours = {name: mdps.PROBLEMS[name] for name in OWN_PROBLEMS}
    return ours | (rlberry().PROBLEMS if rlberry() else {})


def play_ours(player: Player, problem: Problem, saboteur: Saboteur, episodes: int, seed: int) -> Run:
    """As `tests.benchmarks.sessions` plays, with the account of each episode."""
    rng, regret, seconds = np.random.default_rng((seed, 30)), np.zeros(episodes), np.zeros(episodes)
    for t in range(episodes):
        x, told = problem.begin(rng), []
        for h in range(1, problem.length + 1):
            started = time.thread_time()
            action = player.act(h, x, t * problem.length + h)
            seconds[t] += time.thread_time() - started
            regret[t] += problem.regret(h, x, action)
            honest = Happened(h, x, action, *problem.step(rng, x, action))
            told.append(saboteur.tell(honest, t) or honest)
            x = told[-1].following
            if x == END:
                break
        started = time.thread_time()
        player.learn(told)
        seconds[t] += time.thread_time() - started
    return Run(regret / problem.span, seconds)


def play(job: Job) -> Run:
    problem = replace(problems()[job.problem](job.seed), episodes=job.episodes)
    saboteur = ATTACKS[job.attack](problem, np.sqrt(job.episodes))
    if job.player in OURS:
        player = PLAYERS[OURS[job.player]](problem, job.seed)
        return play_ours(player, problem, saboteur, job.episodes, job.seed)
    agent, _ = rlberry().AGENTS[job.player]
    world = rlberry().World(problem, saboteur, job.episodes, job.seed)
    agent(world, job.point, job.episodes)
    return Run(world.regret / problem.span, world.seconds())


def length(player: str, setting: Setting) -> int:
    return setting.slow_episodes if player == SLOW else setting.episodes


def tune(setting: Setting) -> dict[tuple[str, str], Point]:
    """The best of each agent's grid on the clean problem, on other seeds."""
    agents = rlberry().AGENTS if rlberry() else {}
    jobs = [
        Job(problem, "clean", name, point, TUNING_SEED + seed, min(length(name, setting), setting.episodes // 4))
        for problem in problems()
        for name, (_, points) in agents.items()
        for point in points
        for seed in range(setting.tuning_seeds)
    ]
    regrets: dict[tuple[str, str], dict[str, float]] = {}
    for job, run in zip(jobs, _all(jobs), strict=True):
        sums = regrets.setdefault((job.problem, job.player), {})
        sums[repr(job.point)] = sums.get(repr(job.point), 0.0) + float(run.regret.sum())
    return {
        (problem, name): min(agents[name][1], key=lambda point: sums[repr(point)])
        for (problem, name), sums in regrets.items()
    }


def _all(jobs: list[Job]) -> list[Run]:
    with Pool(2) as pool:
        return pool.map(play, jobs, chunksize=1)


def report(setting: Setting) -> Iterator[str]:
    peer = rlberry()
    if peer is None:
        yield "NOT COMPARED: rlberry-scool could not be imported; `make bench-peers` installs it.\n"
    points = tune(setting)
    players = [*OURS, *(peer.AGENTS if peer else {})]
    jobs = [
        Job(problem, attack, player, points.get((problem, player), {}), seed, length(player, setting))
        for problem in problems()
        for attack in ("clean", "decoy")
        for player in players
        for seed in range(setting.seeds)
    ]
    results: dict[tuple[str, str, str], list[Run]] = {}
    for job, run in zip(jobs, _all(jobs), strict=True):
        results.setdefault((job.problem, job.attack, job.player), []).append(run)
    yield from _tables(setting, players, results)
    for (problem, name), point in points.items():
        yield f"- {name} on {problem}: {described(point)}"


def _tables(setting: Setting, players: list[str], results: dict[tuple[str, str, str], list[Run]]) -> Iterator[str]:
    few, many = setting.slow_episodes, setting.episodes
    yield (
        f"Regret as a share of what random sessions lose (0 best, 1 random), medians of {setting.seeds} seeds: over "
        f"the first {few} episodes, and after the slash over {many:,}. A decoy is paid for with √T. {SLOW} goes over "
        f"its whole past for each episode, so it gets {few} episodes only (and an attacker with √{few}). This release "
        "of rlberry-scool has no UCB-H (OptQL): the one here is our own.\n"
    )
    cells = dict.fromkeys((problem, attack) for problem, attack, _ in results)
    rows = [[*cell, *(_regret(results[(*cell, player)], few, many) for player in players)] for cell in cells]
    yield table(["problem", "attack", *players], rows)
    early, late = max(1, few // 10), few
    yield (
        f"\nCPU milliseconds for an episode, median around episode {early}, {late} and {many:,} "
        f"({SLOW}: {early} and {late}), nobody lies:\n"
    )
    costs = []
    for problem in dict.fromkeys(problem for problem, _, _ in results):
        runs = {player: results[problem, "clean", player] for player in players}
        costs.append([problem, *(_cost(runs[player], (early, late, many)) for player in players)])
    yield table(["problem", *players], costs)
    yield "\nWhat rlberry's learners were tuned to, on clean problems and other seeds:\n"


def _regret(runs: list[Run], few: int, many: int) -> str:
    shares = [f"{np.median([run.regret[:few].mean() for run in runs]):.3f}"]
    if len(runs[0].regret) >= many > few:
        shares.append(f"{np.median([run.regret.mean() for run in runs]):.3f}")
    return " / ".join(shares)


def _cost(runs: list[Run], places: tuple[int, ...]) -> str:
    reached = [place for place in dict.fromkeys(places) if place <= len(runs[0].seconds) + 1]
    windows = [np.concatenate([run.seconds[max(0, place - 10) : place] for run in runs]) for place in reached]
    return " / ".join(f"{np.median(window) * 1e3:.2f}" for window in windows)
