"""Decide and learn, one at a time, in-process: everyone in turn, block after block, in one process."""

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import cycle
from statistics import median
from typing import NamedTuple

import numpy as np

from holdfast_client.simulator.problems import MEANS, unit, with_means
from tests.benchmarks.peers.ours import Holdfast
from tests.benchmarks.peers.questions import Learner, Question, Shape
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.tables import table, verdict

OURS = "Holdfast insured"
BLOCKS = f"{OURS}, a block for each arm"
BUDGET, HORIZON = 10.0, 100_000
ROUNDS = 200  # different questions, asked over and over
# What the fastest learner of each library may take at most, as a multiple of Holdfast's time.
TARGETS = {"MABWiser": 40.0, "river": 12.0, "contextualbandits": 20.0, "Vowpal Wabbit": 4.0}


class Setting(NamedTuple):
    """The first of the sizes (d, K) is the one with targets."""

    sizes: tuple[tuple[int, int], ...] = ((32, 10), (8, 10), (128, 10), (32, 100))
    warm_up: int = 2_000  # rounds
    blocks: int = 101  # many and short, so that a noisy neighbour hits everyone alike
    block_s: float = 0.004


Traffic = list[tuple[Question, list[float]]]
"""Questions, and what each candidate is worth."""


def rows_of(d: int, arms: int) -> Traffic:
    """Every candidate comes with d numbers of its own; one regression for all."""
    rng = np.random.default_rng((d, arms))
    theta, means = unit(rng, (d,)), rng.uniform(*MEANS, size=(ROUNDS, arms))
    return [(Question(with_means(rng, theta, worth)), worth.tolist()) for worth in means]


def contexts_of(d: int, arms: int) -> Traffic:
    """All candidates share d numbers; a regression for each arm, which is how these libraries are made to be used."""
    rng = np.random.default_rng((d, arms, 1))
    thetas, contexts, candidates = unit(rng, (arms, d)), unit(rng, (ROUNDS, d)), np.zeros((arms, d))
    return [(Question(candidates, x), (0.5 + 0.3 * thetas @ x).tolist()) for x in contexts]


def disjoint_of(d: int, arms: int) -> Traffic:
    """The same as rows of d numbers in the block of their arm: what it costs Holdfast to learn what those learn."""
    eye = np.eye(arms)
    return [(Question(np.kron(eye, np.asarray(asked.context))), means) for asked, means in contexts_of(d, arms)]


def stepper(learner: Learner, traffic: Traffic, warm_up: int) -> Callable[[], None]:
    """One decision and its reward; some have been made before."""
    rounds = cycle(traffic)

    def step() -> None:
        asked, means = next(rounds)
        chosen = learner.choose(asked, 1)
        learner.learn(asked, chosen, means[chosen])

    for _ in range(warm_up):
        step()
    return step


def in_turn(works: dict[str, Callable[[], None]], blocks: int, block_s: float) -> dict[str, float]:
    """Microseconds per call of each: medians of blocks, A/B/C/A/B/C."""
    calls = {name: max(1, int(block_s / max(_timed(work, 3), 1e-7))) for name, work in works.items()}
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(blocks):
        for name, work in works.items():
            times[name].append(_timed(work, calls[name]) * 1e6)
    return {name: median(taken) for name, taken in times.items()}


def _timed(work: Callable[[], None], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - started) / calls


def measure(d: int, arms: int, setting: Setting, everything: bool) -> dict[str, float]:
    """Each library in its own way; with `everything` on rows, too, and Holdfast with a block for each arm."""
    ours = Holdfast(Shape(d, arms), BUDGET, HORIZON, 0)
    works = {OURS: stepper(ours, rows_of(d, arms), setting.warm_up)}
    if everything:
        blocks = Holdfast(Shape(d * arms, arms), BUDGET, HORIZON, 0)
        works[BLOCKS] = stepper(blocks, disjoint_of(d, arms), setting.warm_up)
    for name, entry in roster().entries.items():
        if name not in ("OFUL", "Huber LinUCB"):
            native = entry.make(Shape(d * arms, arms, d), entry.grid[0], 1)
            works[name] = stepper(native, contexts_of(d, arms), setting.warm_up)
        if everything:
            on_rows = entry.make(Shape(d, arms), entry.grid[0], 1)
            works[f"{name}, one model"] = stepper(on_rows, rows_of(d, arms), setting.warm_up)
    return in_turn(works, setting.blocks, setting.block_s)


def told(setting: Setting) -> str:
    """What the table is of."""
    d, arms = setting.sizes[0]
    return (
        f"A decision among {arms} candidates and its reward, one at a time, d = {d}, medians of {setting.blocks} "
        "interleaved blocks in one process. Holdfast has one regression on rows of d numbers. The libraries are used "
        "as they are made to be: d numbers shared by all arms and a regression for each arm. `One model` is their "
        "regression on Holdfast's rows; `a block for each arm` is Holdfast on their problem. Before it is timed, "
        f"everyone has learned {setting.warm_up:,} rounds: Holdfast's first ones, in which several candidates tie at "
        "the cap, take longer."
    )


def _alike(times: dict[str, float]) -> Iterator[str]:
    """Each library's fastest learner beside Holdfast on the same problem."""
    for library in TARGETS:
        named = {name: us for name, us in times.items() if name.startswith(library)}
        rows = [us for name, us in named.items() if name.endswith("one model")]
        arms = [us for name, us in named.items() if not name.endswith("one model")]
        if named:
            on_rows, on_arms = min(rows) / times[OURS], min(arms) / times[BLOCKS]
            found = f"×{on_rows:.1f} on Holdfast's rows, ×{on_arms:.1f} on its own problem"
            yield f"in-process, the same problem for both: {library} takes {found}"


def compared(library: str, ratio: float) -> str:
    """These are not the same problem, and a line that is read alone must say so."""
    return f"in-process: Holdfast with one regression is ×{ratio:.1f} as fast as {library} with one for each arm"


def report(setting: Setting) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer's own
        yield from _report(setting)


def _report(setting: Setting) -> Iterator[str]:
    d, arms = setting.sizes[0]
    yield f"{told(setting)}\n"
    times = measure(d, arms, setting, everything=True)
    rows = [[name, f"{us:,.1f}", f"{1e6 / us:,.0f}", f"×{us / times[OURS]:.1f}"] for name, us in times.items()]
    yield table(["learner", "µs", "per second", "Holdfast's time × "], rows)
    yield ""
    for library, least in TARGETS.items():
        own = {name: us for name, us in times.items() if name.startswith(library) and not name.endswith("one model")}
        if own:
            ratio = min(own.values()) / times[OURS]
            yield f"{compared(library, ratio)} {verdict(f'≥ {least:g}', ratio >= least)}"
    yield ""
    yield from _alike(times)
    yield "\nScaling, µs for a decision and its reward, everyone in its own way:\n"
    scaled = {size: measure(*size, setting, everything=False) for size in setting.sizes}
    header = ["learner", *(f"d {d}, K {arms}" for d, arms in scaled)]
    names = list(next(iter(scaled.values())))
    yield table(header, [[name, *(f"{times[name]:,.1f}" for times in scaled.values())] for name in names])
