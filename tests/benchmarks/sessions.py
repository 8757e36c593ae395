"""Sessions under attack: five learners × five attacks × five problems, and what rare planning costs and saves."""

from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np

from holdfast_client.simulator.mdps import END, PROBLEMS, Problem
from holdfast_client.simulator.saboteurs import ATTACKS, Happened, Saboteur
from tests.benchmarks import sessions_cost
from tests.benchmarks.sessions_players import PLAYERS, Player
from tests.benchmarks.tables import table, verdict

WITHHELD = "withheld"
WITHHELD_FROM = ("river swim", "deep sea")
DECOYED, RIVALS = ("deep sea", "combination lock"), ("plain", "plain, 4β")
LOST = 0.5  # a learner that still loses this share of what a random session loses has not recovered
GAIN_MIN = 1.4


class Setting(NamedTuple):
    """How often, and how long compared with the whole."""

    seeds: int = 10
    share: float = 1.0
    cost: sessions_cost.Setting = sessions_cost.Setting()


class Cell(NamedTuple):
    """One place of the table."""

    problem: str
    attack: str
    player: str


class Run(NamedTuple):
    """Regret as a share of what random sessions lose: over all episodes, and over the last quarter."""

    share: float
    late: float


def play(player: Player, problem: Problem, saboteur: Saboteur, episodes: int, seed: int) -> Run:
    """The session goes where it is told to go: a stolen transition is one. What is withheld is not learned."""
    rng, regret = np.random.default_rng((seed, 30)), np.zeros(episodes)
    for t in range(episodes):
        x, told = problem.begin(rng), []
        for h in range(1, problem.length + 1):
            action = player.act(h, x, t * problem.length + h)
            regret[t] += problem.regret(h, x, action)
            honest = Happened(h, x, action, *problem.step(rng, x, action))
            shown = saboteur.tell(honest, t)
            x = honest.following if shown is None else shown.following
            if shown is not None:
                told.append(shown)
            if x == END:
                break
        player.learn(told)
    scaled = regret / problem.span
    return Run(float(scaled.mean()), float(scaled[-max(1, episodes // 4) :].mean()))


def run_once(job: tuple[Cell, int, float]) -> Run:
    cell, seed, share = job
    whole = PROBLEMS[cell.problem](seed)
    problem = replace(whole, episodes=max(4, int(share * whole.episodes)))
    saboteur = ATTACKS[cell.attack](problem, np.sqrt(problem.episodes))
    return play(PLAYERS[cell.player](problem, seed), problem, saboteur, problem.episodes, seed)


def cells() -> list[Cell]:
    return [
        Cell(problem, attack, player)
        for problem in PROBLEMS
        for attack in ATTACKS
        if attack != WITHHELD or problem in WITHHELD_FROM
        for player in PLAYERS
    ]


def measure(setting: Setting, wanted: list[Cell]) -> dict[Cell, list[Run]]:
    """Each of these cells over all seeds, on both cores."""
    jobs = [(cell, seed, setting.share) for cell in wanted for seed in range(setting.seeds)]
    with Pool(2) as pool:
        runs = pool.map(run_once, jobs, chunksize=setting.seeds)
    return {cell: runs[i * setting.seeds : (i + 1) * setting.seeds] for i, cell in enumerate(wanted)}


def report(setting: Setting) -> Iterator[str]:
    """The whole table, what it must show, the rows where insurance buys nothing, and the cost of planning."""
    results = measure(setting, cells())
    yield (
        f"Regret of sessions as a share of what random sessions lose (0 best, 1 random): median of {setting.seeds} "
        "seeds, and after the slash the share of seeds that never recover (last quarter above one half). The attacker "
        "spends √T; the insured learner is at its defaults, one set of constants for all problems.\n"
    )
    rows = [
        [problem, attack, *(_shown(results[Cell(problem, attack, player)]) for player in PLAYERS)]
        for problem, attack in dict.fromkeys((cell.problem, cell.attack) for cell in results)
    ]
    yield table(["problem", "attack", *PLAYERS], rows)
    yield ""
    yield from _must_show(results)
    yield from _at_a_shorter_horizon(setting)
    yield from _where_insurance_loses(results)
    yield ""
    yield from sessions_cost.report(setting.cost)


def _median(runs: list[Run]) -> float:
    return float(np.median([run.share for run in runs]))


def _lost(runs: list[Run]) -> float:
    return float(np.mean([run.late > LOST for run in runs]))


def _shown(runs: list[Run]) -> str:
    return f"{_median(runs):.3f} / {_lost(runs):.1f}"


def _must_show(results: dict[Cell, list[Run]]) -> Iterator[str]:
    for problem in DECOYED:
        ours = _median(results[Cell(problem, "decoy", "insured")])
        for rival in RIVALS:
            gain = _median(results[Cell(problem, "decoy", rival)]) / ours
            yield f"{problem}, decoy: insured is ×{gain:.2f} better than {rival} {verdict('≥ 1.4', gain >= GAIN_MIN)}"
    for problem in WITHHELD_FROM:
        for player in ("insured", "insured, stationary"):
            lost = _lost(results[Cell(problem, WITHHELD, player)])
            yield f"{problem}, withheld: {lost:.0%} of seeds of {player} never recover {verdict('0 %', lost == 0.0)}"


def _at_a_shorter_horizon(setting: Setting) -> Iterator[str]:
    """ζ_eff = ρT/(dH) shrinks with the horizon, and the protection with it."""
    wanted = [Cell(problem, "decoy", player) for problem in DECOYED for player in (*RIVALS, "insured")]
    results = measure(setting._replace(share=setting.share / 3.0), wanted)
    for problem in DECOYED:
        ours = _median(results[Cell(problem, "decoy", "insured")])
        gains = (
            f"×{_median(results[Cell(problem, 'decoy', rival)]) / ours:.2f} better than {rival}" for rival in RIVALS
        )
        yield f"at a third of the horizon, {problem}, decoy: insured is {', '.join(gains)}"


def _where_insurance_loses(results: dict[Cell, list[Run]]) -> Iterator[str]:
    yield "\nWhere insurance costs and buys nothing (median no better than plain):\n"
    for problem, attack in dict.fromkeys((cell.problem, cell.attack) for cell in results):
        plain = _median(results[Cell(problem, attack, "plain")])
        for player in ("insured", "insured, stationary"):
            ours = _median(results[Cell(problem, attack, player)])
            if ours >= plain:
                yield f"- {problem}, {attack}: {player} {ours:.3f}, plain {plain:.3f}"
