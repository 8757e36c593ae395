"""river's LinUCBDisjoint: a Bayesian regression for each arm, or one of them asked about every candidate."""

import numpy as np
from river.bandit import LinUCBDisjoint

from tests.benchmarks.peers.questions import Entry, Learner, Question, Setting, Shape, grid

EVERYONE = "everyone"


class River:
    """Its `pull` takes one context for all arms; rows of their own are put to the regression inside it."""

    def __init__(self, shape: Shape, prior: float, precision: float, seed: int) -> None:
        self.policy = LinUCBDisjoint(alpha=prior, beta=precision, seed=seed)
        self.arms, self.rng = list(range(shape.arms)), np.random.default_rng((seed, 43))

    def choose(self, asked: Question, t: int) -> int:
        if asked.context is not None:
            return int(self.policy.pull(self.arms, context=named(asked.context.tolist())))
        shared = self.policy._bayes_lin_regs[EVERYONE]
        beliefs = [shared.predict_one(named(row), with_dist=True) for row in asked.rows.tolist()]
        return int(np.argmax([belief.mu + belief.sigma for belief in beliefs]))

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        x, arm = (asked.rows[chosen], EVERYONE) if asked.context is None else (asked.context, chosen)
        self.policy.update(arm, named(x.tolist()), reward)


def named(row: list[float]) -> dict[int, float]:
    """river takes dictionaries."""
    return dict(enumerate(row))


def _linucb(shape: Shape, setting: Setting, seed: int) -> Learner:
    return River(shape, setting["prior"], setting["precision"], seed)


ENTRIES = {"river LinUCBDisjoint": Entry(_linucb, grid(prior=(0.1, 1.0, 10.0), precision=(1.0, 10.0, 100.0)))}
