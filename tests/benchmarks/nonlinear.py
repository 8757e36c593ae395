"""What the nonlinear classes buy on a smooth problem, and what a kernel decision costs as data come in."""

from collections.abc import Iterator
from multiprocessing import Pool
from typing import Any, NamedTuple

import numpy as np

from holdfast.learners import BanditSpec, build_bandit
from holdfast_client.simulator.adversaries import Adversary, leave_alone
from holdfast_client.simulator.environments import Smooth
from tests.benchmarks.regret import play
from tests.benchmarks.tables import table, verdict
from tests.benchmarks.timing import interleaved

KINDS = ("linear", "quadratic", "logistic", "fourier", "kernel")
DIMENSIONS = (2, 3)


class Setting(NamedTuple):
    rounds: int = 3_000
    seeds: int = 10
    few_updates: int = 5_000
    many_updates: int = 50_000


def run_once(job: tuple[str, int, int, int]) -> float:
    kind, dimension, seed, rounds = job
    environment = Smooth(seed, dimension)
    spec = BanditSpec(dimension=environment.features, function={"kind": kind}, budget=0, seed=seed)
    return float(play(build_bandit(spec), environment, Adversary(leave_alone, 0.0), rounds, seed)[-1])


def report(setting: Setting) -> Iterator[str]:
    yield f"Regret on a smooth nonlinear reward, {setting.rounds:,} rounds, {setting.seeds} seeds, nobody attacks.\n"
    jobs = [(k, d, s, setting.rounds) for d in DIMENSIONS for k in KINDS for s in range(setting.seeds)]
    with Pool(2) as pool:
        regrets = np.array(pool.map(run_once, jobs)).reshape(len(DIMENSIONS), len(KINDS), setting.seeds)
    medians, tails = np.median(regrets, axis=2), np.quantile(regrets, 0.9, axis=2)
    yield table(
        ["dimension", "class", "median", "p90", "against linear"],
        [
            [str(d), kind, f"{medians[i, j]:.0f}", f"{tails[i, j]:.0f}", f"×{medians[i, j] / medians[i, 0]:.2f}"]
            for i, d in enumerate(DIMENSIONS)
            for j, kind in enumerate(KINDS)
        ],
    )
    for kind in ("fourier", "kernel"):
        worst = float((medians[:, KINDS.index(kind)] / medians[:, 0]).max())
        yield f"\n{kind}: at most ×{worst:.2f} of linear's regret {verdict('≤ 0.6', worst <= 0.6)}"
    yield from _cost(setting)


def _learned(updates: int) -> tuple[Any, Any]:
    environment = Smooth(0, 3)
    bandit = build_bandit(BanditSpec(dimension=environment.features, function={"kind": "kernel"}, budget=0))
    state = bandit.init()
    for t in range(updates):
        round_ = environment.round(t)
        state, _ = bandit.update(state, round_.options[t % 10], float(round_.means[t % 10]), donate=True)
    return bandit, state


def _cost(setting: Setting) -> Iterator[str]:
    options = Smooth(1, 3).round(0).options
    (bandit, few), (_, many) = _learned(setting.few_updates), _learned(setting.many_updates)
    early, late = interleaved(lambda: bandit.decide(few, options, 1), lambda: bandit.decide(many, options, 1))
    ratio = late / early
    yield (
        f"\nkernel decision (10 options, d = 3): {early:.0f} µs after {setting.few_updates:,} updates "
        f"({few.function.size} core points), {late:.0f} µs after {setting.many_updates:,} ({many.function.size}): "
        f"×{ratio:.2f} {verdict('≤ 2', ratio <= 2.0)}"
    )
