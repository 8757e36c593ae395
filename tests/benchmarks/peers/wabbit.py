"""Vowpal Wabbit through its Python binding: `cb_explore_adf`, one line of text for each action, as its tutorials do."""

import numpy as np
import vowpalwabbit

from tests.benchmarks.peers.questions import Entry, Learner, Question, Setting, Shape, grid

EXPLORATION = {
    "squarecb": "--squarecb --gamma_scale {size}",
    "cover": "--cover 4 --psi {size}",
    "bag": "--bag {size:.0f}",
    "epsilon": "--epsilon {size}",
}
SIZES = {"squarecb": (10, 100, 1000), "cover": (0.1, 1.0), "bag": (4, 10), "epsilon": (0.02, 0.05)}


class Wabbit:
    """Costs are 1 − reward, so that an action nobody has tried looks good. A question is parsed once."""

    def __init__(self, shape: Shape, options: str, seed: int) -> None:
        interactions = "" if shape.context is None else "-q sa"
        self.workspace = vowpalwabbit.Workspace(
            f"--cb_explore_adf {options} {interactions} --random_seed {seed} --quiet"
        )
        self.rng = np.random.default_rng((seed, 40))
        self.probability, self.asked = 1.0, self.workspace.parse(["|a 0"])

    def choose(self, asked: Question, t: int) -> int:
        self.workspace.finish_example(self.asked)
        self.asked = self.workspace.parse(lines(asked))
        chances = self.workspace.predict(self.asked)
        total = float(sum(chances))
        place = int(np.searchsorted(np.cumsum(chances), self.rng.random() * total, side="right"))
        chosen = min(place, len(chances) - 1)
        self.probability = chances[chosen] / total
        return chosen

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        at = chosen if asked.context is None else chosen + 1
        self.asked[at].set_label_string(f"0:{1.0 - reward:.6g}:{self.probability:.6g}")
        self.workspace.learn(self.asked)


def lines(asked: Question) -> list[str]:
    """The question as text."""
    if asked.context is None:
        return [f"|a {numbers(row)}" for row in asked.rows.tolist()]
    return [f"shared |s {numbers(asked.context.tolist())}", *(f"|a {arm}" for arm in range(len(asked.rows)))]


def numbers(row: list[float]) -> str:
    """Features without names."""
    return " ".join([f"{i}:{value:.6g}" for i, value in enumerate(row)])


def words(setting: Setting) -> str:
    """A point of the grid as Vowpal Wabbit's command line has it."""
    return f"{EXPLORATION[setting['exploration']].format(size=setting['size'])} --learning_rate {setting['rate']}"


def make(shape: Shape, setting: Setting, seed: int) -> Learner:
    return Wabbit(shape, words(setting), seed)


ENTRIES = {
    "Vowpal Wabbit": Entry(
        make,
        tuple(
            point
            for exploration, sizes in SIZES.items()
            for point in grid(exploration=(exploration,), size=sizes, rate=(0.5, 2.0, 10.0))
        ),
    )
}
