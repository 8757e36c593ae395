"""Half a minute, in-process: the best item arrives, its first ratings are faked, and two learners go on from there."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from holdfast_client.simulator.adversaries import ATTACKS, Adversary
from holdfast_client.simulator.environments import DIMENSION, FixedCatalogue
from tests.benchmarks.regret import play
from tests.benchmarks.rivals import PLAYERS
from tests.benchmarks.tables import table


class Setting(NamedTuple):
    rounds: int = 20_000
    seeds: int = 5
    budget: float = 10.0
    arrival: int = 1_000


CHECKPOINTS = 8


def report(setting: Setting) -> Iterator[str]:
    yield (
        f"A catalogue of nine items. In round {setting.arrival:,} a tenth arrives, better than all. An attacker "
        f"who can fake {setting.budget:g}\nrewards in all gives it nothing but zeros. Lost reward since the start, "
        f"median of {setting.seeds} seeds:\n"
    )
    curves = {
        name: np.median([_curve(name, setting, seed) for seed in range(setting.seeds)], axis=0) for name in _NAMES
    }
    places = np.linspace(0, setting.rounds, CHECKPOINTS + 1).astype(int)[1:] - 1
    yield table(
        ["round", *_NAMES.values()],
        [[f"{place + 1:,}", *(f"{curve[place]:.0f}" for curve in curves.values())] for place in places],
    )
    plain, insured = (float(curves[name][-1]) for name in ("plain", "insured"))
    recent = {name: curve[-1] - curve[-1 - setting.rounds // 10] for name, curve in curves.items()}
    yield (
        f"\nInsured lost {insured:.0f}, plain {plain:.0f} (×{insured / plain:.2f}). In the last tenth alone: "
        f"insured {recent['insured']:.0f}, plain {recent['plain']:.0f}."
    )


_NAMES = {"plain": "plain optimism", "Thompson": "Thompson sampling", "insured": "Holdfast, insured"}


def _curve(name: str, setting: Setting, seed: int) -> np.ndarray:
    environment = FixedCatalogue(seed, setting.arrival)
    adversary = Adversary(ATTACKS["cold item"], setting.budget)
    return play(PLAYERS[name](DIMENSION, setting.budget, seed), environment, adversary, setting.rounds, seed)
