"""One run of one learner on one contest, and all of them on both cores."""

import sys
import warnings
from collections.abc import Iterable
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast_client.simulator.adversaries import Moment
from tests.benchmarks.peers.contests import CONTESTS, SPENT
from tests.benchmarks.peers.ours import HOLDFAST, holdfast
from tests.benchmarks.peers.questions import Learner, Setting, Shape
from tests.benchmarks.peers.roster import roster

POINTS = 160  # of a curve
TOLD_EVERY = 50  # runs


class Job(NamedTuple):
    """One run: who, where, for how long, against how much. `budget` is what an insured learner is insured for."""

    contest: str
    learner: str
    setting: Setting
    seed: int
    rounds: int  # T; the run goes on to 4T
    budget: float
    spend: float


class Run(NamedTuple):
    """Regret at T and at 4T, what was really spent, and the curve."""

    early: float
    late: float
    spent: float
    curve: Array


def make(job: Job, shape: Shape) -> Learner:
    if job.learner in HOLDFAST:
        return holdfast(job.learner, shape, job.budget, 4 * job.rounds, job.seed)
    return roster().entries[job.learner].make(shape, job.setting, job.seed)


def play(job: Job) -> Run:
    """The same candidates, honest rewards and attacker for everyone; nobody is told who lies."""
    contest, rounds = (CONTESTS | SPENT)[job.contest], 4 * job.rounds
    environment, layout = contest.world(job.seed, job.rounds), contest.layout()
    adversary = contest.adversary(job.seed, rounds, job.spend)
    learner, rng = make(job, layout.shape(environment)), np.random.default_rng((job.seed, 20))
    regret = np.empty(rounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer's own
        for t in range(rounds):
            round_ = environment.round(t)
            asked = layout.question(round_)
            chosen = learner.choose(asked, t)
            regret[t] = round_.means.max() - round_.means[chosen]
            honest = environment.reward(rng, round_, chosen)
            learner.learn(asked, chosen, adversary.corrupt(Moment(round_, t, chosen, honest)))
    total = np.cumsum(regret)
    places = np.linspace(0, rounds - 1, min(POINTS, rounds)).astype(int)
    return Run(float(total[job.rounds - 1]), float(total[-1]), adversary.spent, total[places])


def play_all(jobs: Iterable[Job]) -> dict[tuple[str, str, str], list[Run]]:
    """On both cores; the runs of each contest, learner and setting in the order of their seeds."""
    listed = list(jobs)
    grouped: dict[tuple[str, str, str], list[Run]] = {}
    with Pool(2) as pool:
        for done, (job, run) in enumerate(zip(listed, pool.imap(play, listed), strict=True), start=1):
            grouped.setdefault((job.contest, job.learner, repr(job.setting)), []).append(run)
            if done % TOLD_EVERY == 0:
                print(f"{done} of {len(listed)} runs, {job.contest}", file=sys.stderr, flush=True)
    return grouped
