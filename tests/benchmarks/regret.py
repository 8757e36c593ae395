"""Regret under attack: five learners × five attacks × two kinds of traffic, at T and 4T."""

from collections.abc import Iterator
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast_client.simulator.adversaries import ATTACKS, Adversary, Moment
from holdfast_client.simulator.environments import DIMENSION, FixedCatalogue, FreshContexts
from holdfast_client.simulator.problems import NOISE, Environment
from tests.benchmarks.rivals import PLAYERS, Player
from tests.benchmarks.tables import table, verdict

SUMMARY_TITLE = "Median regret at 4T:"
ENVIRONMENTS = {"fixed catalogue": FixedCatalogue, "fresh contexts": FreshContexts}


class Setting(NamedTuple):
    """How long, how often, and how much is spent."""

    rounds: int = 8_000  # T; every run goes on to 4T
    seeds: int = 12
    budget: float = 25.0
    arrival: int = 1_000  # of the cold item


class Cell(NamedTuple):
    """One place of the table."""

    environment: str
    attack: str
    player: str


class Run(NamedTuple):
    """Regret at T and at 4T, and what the adversary spent."""

    early: float
    late: float
    spent: float


def play(player: Player, environment: Environment, adversary: Adversary, rounds: int, seed: int) -> Array:
    """Cumulative regret after each round."""
    rng = np.random.default_rng((seed, 20))
    state, regret = player.init(), np.empty(rounds)
    for t in range(rounds):
        round_ = environment.round(t)
        chosen = player.decide(state, round_.options, t).chosen
        regret[t] = round_.means.max() - round_.means[chosen]
        honest = environment.reward(rng, round_, chosen)
        reward = adversary.corrupt(Moment(round_, t, chosen, honest))
        state, _ = player.update(state, round_.options[chosen], reward, donate=True)
    return np.cumsum(regret)


def run_once(job: tuple[Cell, int, Setting]) -> Run:
    cell, seed, setting = job
    arrival = setting.arrival if cell.attack == "cold item" else None
    environment = ENVIRONMENTS[cell.environment](seed, arrival)
    adversary = Adversary(ATTACKS[cell.attack], 0.0 if cell.attack == "clean" else setting.budget)
    player = PLAYERS[cell.player](DIMENSION, setting.budget, seed)
    regret = play(player, environment, adversary, 4 * setting.rounds, seed)
    return Run(float(regret[setting.rounds - 1]), float(regret[-1]), adversary.spent)


def measure(setting: Setting, cells: list[Cell] | None = None) -> dict[Cell, list[Run]]:
    """Every cell of the table, over all seeds, on both cores."""
    cells = cells or [Cell(e, a, p) for e in ENVIRONMENTS for a in ATTACKS for p in PLAYERS]
    jobs = [(cell, seed, setting) for cell in cells for seed in range(setting.seeds)]
    with Pool(2) as pool:
        runs = pool.map(run_once, jobs, chunksize=setting.seeds)
    return {cell: runs[i * setting.seeds : (i + 1) * setting.seeds] for i, cell in enumerate(cells)}


class Summary(NamedTuple):
    early: float
    early_p90: float
    late: float
    late_p90: float
    growth: float
    spent: float


def summarise(runs: list[Run]) -> Summary:
    early, late, spent = np.array(runs).T
    medians = float(np.median(early)), float(np.median(late))
    growth = medians[1] / max(medians[0], 1e-9)
    return Summary(
        medians[0],
        float(np.quantile(early, 0.9)),
        medians[1],
        float(np.quantile(late, 0.9)),
        growth,
        float(np.median(spent)),
    )


def report(setting: Setting) -> Iterator[str]:
    """The table, the two lines it must show, and the rows where insurance buys nothing."""
    summaries = {cell: summarise(runs) for cell, runs in measure(setting).items()}
    t = setting.rounds
    yield (
        f"Regret, linear, d = {DIMENSION}, 10 options, noise {NOISE}; insured budget and attacker's budget "
        f"{setting.budget:g}; T = {t:,}; {setting.seeds} seeds.\n"
    )
    yield f"{SUMMARY_TITLE}\n"
    yield summary_table(summaries)
    yield "\nAll of it:\n"
    header = ["traffic", "attack", "learner", "median T", "p90 T", "median 4T", "p90 4T", "growth", "spent"]
    yield table(header, [_row(cell, summary) for cell, summary in summaries.items()])
    yield ""
    for player, limit, holds in (("insured", "≤ 1.5", lambda g: g <= 1.5), ("plain", "≥ 3", lambda g: g >= 3.0)):
        growth = summaries[Cell("fixed catalogue", "suppress", player)].growth
        yield f"fixed catalogue, suppress: {player} grows ×{growth:.2f} from T to 4T {verdict(limit, holds(growth))}"
    yield from _where_insurance_loses(summaries)


def summary_table(summaries: dict[Cell, Summary]) -> str:
    """Median regret at 4T, a row per attack and a column per learner."""
    return table(
        ["traffic", "attack", *PLAYERS],
        [
            [environment, attack, *(f"{summaries[Cell(environment, attack, player)].late:.0f}" for player in PLAYERS)]
            for environment in ENVIRONMENTS
            for attack in ATTACKS
        ],
    )


def _row(cell: Cell, s: Summary) -> list[object]:
    return [
        *cell,
        f"{s.early:.0f}",
        f"{s.early_p90:.0f}",
        f"{s.late:.0f}",
        f"{s.late_p90:.0f}",
        f"×{s.growth:.2f}",
        f"{s.spent:.1f}",
    ]


def _where_insurance_loses(summaries: dict[Cell, Summary]) -> Iterator[str]:
    yield "\nWhere insurance costs and buys nothing (median regret at 4T no better than plain):\n"
    for environment in ENVIRONMENTS:
        for attack in ATTACKS:
            ours, theirs = (summaries[Cell(environment, attack, p)].late for p in ("insured", "plain"))
            if ours >= theirs:
                yield f"- {environment}, {attack}: insured {ours:.0f}, plain {theirs:.0f}"
