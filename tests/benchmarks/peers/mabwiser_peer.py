"""MABWiser's LinUCB and LinTS: a ridge regression for each arm, or one arm that is asked about every candidate."""

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from tests.benchmarks.peers.questions import Entry, Learner, Question, Setting, Shape, grid


class MabWiser:
    """The first choice is random: it predicts nothing before it was fitted."""

    def __init__(self, shape: Shape, policy: object, seed: int) -> None:
        self.mab = MAB(list(range(shape.models)), policy, seed=seed)
        self.rng = np.random.default_rng((seed, 41))
        self.is_fitted = False

    def choose(self, asked: Question, t: int) -> int:
        if not self.is_fitted:
            return int(self.rng.integers(len(asked.rows)))
        if asked.context is not None:
            return int(self.mab.predict([asked.context]))
        return int(np.argmax([scores[0] for scores in self.mab.predict_expectations(asked.rows)]))

    def learn(self, asked: Question, chosen: int, reward: float) -> None:
        fit = self.mab.partial_fit if self.is_fitted else self.mab.fit
        if asked.context is None:
            fit([0], [reward], asked.rows[chosen : chosen + 1])
        else:
            fit([chosen], [reward], [asked.context])
        self.is_fitted = True


def _linucb(shape: Shape, setting: Setting, seed: int) -> Learner:
    return MabWiser(shape, LearningPolicy.LinUCB(alpha=setting["alpha"], l2_lambda=setting["ridge"]), seed)


def _lints(shape: Shape, setting: Setting, seed: int) -> Learner:
    return MabWiser(shape, LearningPolicy.LinTS(alpha=setting["alpha"], l2_lambda=setting["ridge"]), seed)


ENTRIES = {
    "MABWiser LinUCB": Entry(_linucb, grid(alpha=(0.1, 0.3, 1.0), ridge=(0.1, 1.0))),
    "MABWiser LinTS": Entry(_lints, grid(alpha=(0.05, 0.2, 1.0), ridge=(0.1, 1.0))),
}
