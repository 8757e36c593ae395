"""Who lies, and what for. All see the action and the reward first; none can spend more than its budget."""

from collections.abc import Callable

from tests.benchmarks.environments import Round

Target = Callable[[Round, int, float], float]
"""What the adversary would like a reward to be, given the round, the choice and the honest reward."""


def leave_alone(round_: Round, chosen: int, reward: float) -> float:
    return reward


def suppress(round_: Round, chosen: int, reward: float) -> float:
    """Make the best look worthless."""
    return 0.0 if chosen == round_.means.argmax() else reward


def promote(round_: Round, chosen: int, reward: float) -> float:
    """Make the worst look perfect."""
    return 1.0 if chosen == round_.means.argmin() else reward


def flip(round_: Round, chosen: int, reward: float) -> float:
    """Say the opposite."""
    return 1.0 - reward


def kill_cold(round_: Round, chosen: int, reward: float) -> float:
    """Give the newly arrived item nothing but bad ratings."""
    return 0.0 if chosen == round_.cold else reward


ATTACKS: dict[str, Target] = {
    "clean": leave_alone,
    "suppress": suppress,
    "promote": promote,
    "flip": flip,
    "cold item": kill_cold,
}


class Adversary:
    """Moves each reward as far towards its target as the budget still allows."""

    def __init__(self, target: Target, budget: float) -> None:
        self.target = target
        self.budget = budget
        self.spent = 0.0

    def corrupt(self, round_: Round, chosen: int, reward: float) -> float:
        wanted = self.target(round_, chosen, reward) - reward
        left = self.budget - self.spent
        change = max(-left, min(left, wanted))
        self.spent += abs(change)
        assert self.spent <= self.budget + 1e-9
        return reward + change
