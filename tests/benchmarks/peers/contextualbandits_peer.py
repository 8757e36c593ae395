"""contextualbandits' LinUCB and BootstrappedUCB: a model for each arm, or one arm asked about every candidate.

It refuses to have fewer than two arms, so the one that is asked has a neighbour that never learns; and a seed of 0.
"""

from typing import Any

import numpy as np
from contextualbandits.linreg import LinearRegression
from contextualbandits.online import BootstrappedUCB, LinUCB

from tests.benchmarks.peers.questions import Entry, Learner, Question, Setting, Shape, grid

ARMS_MIN = 2


class ContextualBandits:
    """The first choice is random: nothing is fitted yet."""

    def __init__(self, shape: Shape, policy: Any, seed: int) -> None:
        self.policy, self.rng = policy, np.random.default_rng((seed, 42))

    def choose(self, asked: Question, t: int) -> int:
        if not self.policy.is_fitted:
            return int(self.rng.integers(len(asked.rows)))
        if asked.context is not None:
            return int(self.policy.predict(asked.context[None])[0])
        return int(self.policy.decision_function(asked.rows)[:, 0].argmax())

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        x, arm = (asked.rows[chosen], 0) if asked.context is None else (asked.context, chosen)
        self.policy.partial_fit(x[None], np.array([arm]), np.array([reward]))


def _linucb(shape: Shape, setting: Setting, seed: int) -> Learner:
    policy = LinUCB(
        nchoices=max(ARMS_MIN, shape.models), alpha=setting["alpha"], lambda_=setting["ridge"], fit_intercept=False,
        random_state=seed + 1, njobs=1,
    )  # fmt: skip
    return ContextualBandits(shape, policy, seed)


def _bootstrapped(shape: Shape, setting: Setting, seed: int) -> Learner:
    policy = BootstrappedUCB(
        LinearRegression(lambda_=setting["ridge"], fit_intercept=False), nchoices=max(ARMS_MIN, shape.models),
        percentile=setting["percentile"], beta_prior="auto" if shape.context else None, batch_train=True,
        random_state=seed + 1, njobs_arms=1, njobs_samples=1,
    )  # fmt: skip
    return ContextualBandits(shape, policy, seed)


ENTRIES = {
    "contextualbandits LinUCB": Entry(_linucb, grid(alpha=(0.1, 0.3, 1.0), ridge=(0.1, 1.0))),
    "contextualbandits BootstrappedUCB": Entry(_bootstrapped, grid(percentile=(80, 95), ridge=(1.0,))),
}
