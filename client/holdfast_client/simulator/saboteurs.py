"""Who lies in sessions. All see the state, the action and what truly happened; none spends more than its budget.

A changed reward costs the change; a stolen transition costs 1, the most that a next state can matter.
"""

from collections import Counter
from typing import NamedTuple

from holdfast_client.simulator.adversaries import Account
from holdfast_client.simulator.mdps import END, Problem

UNSURE_VISITS = 20


class Happened(NamedTuple):
    """One step as it truly was, or as it is told."""

    h: int
    x: int
    action: int
    reward: float
    following: int


class Saboteur:
    """Leaves everything alone. `tell` says what is told of a step: a step, or None when its reward is withheld."""

    def __init__(self, problem: Problem, budget: float) -> None:
        self.problem, self.account = problem, Account(budget)
        values = problem.best.max(axis=2)  # V_*^h(x)
        self.worst = [int(v.argmin()) for v in values]
        self.values = values

    def tell(self, step: Happened, t: int) -> Happened | None:
        return step

    def is_best(self, step: Happened) -> bool:
        return self.problem.regret(step.h, step.x, step.action) < 1e-12

    def pay(self, step: Happened, reward: float) -> Happened:
        """Move the reward towards another, as far as the budget goes."""
        return step._replace(reward=step.reward + self.account.grant(reward - step.reward))

    def steal(self, step: Happened) -> Happened:
        """Send the session to the worst state instead."""
        if self.account.budget - self.account.spent < 1.0 or step.h == self.problem.length or step.following == END:
            return step
        if self.values[step.h, step.following] <= self.values[step.h, self.worst[step.h]]:
            return step
        self.account.grant(1.0)
        return step._replace(following=self.worst[step.h])


class Decoy(Saboteur):
    """Pays for the worst first action."""

    def tell(self, step: Happened, t: int) -> Happened:
        if step.h == 1 and step.action == self.problem.best[0, step.x].argmin():
            return self.pay(step, self.problem.step_max)
        return step


class Thief(Saboteur):
    """Steals what follows the best action."""

    def tell(self, step: Happened, t: int) -> Happened:
        return self.steal(step) if self.is_best(step) else step


class Opportunist(Saboteur):
    """Ruins the best action, reward and what follows, wherever it has been tried only a few times."""

    def __init__(self, problem: Problem, budget: float) -> None:
        super().__init__(problem, budget)
        self.visits = Counter[tuple[int, int, int]]()

    def tell(self, step: Happened, t: int) -> Happened:
        place = (step.h, step.x, step.action)
        self.visits[place] += 1
        if self.is_best(step) and self.visits[place] <= UNSURE_VISITS:
            return self.pay(self.steal(step), 0.0)
        return step


class Flipper(Saboteur):
    """Says the opposite of every reward."""

    def tell(self, step: Happened, t: int) -> Happened:
        return self.pay(step, self.problem.step_max - step.reward)


class Withholder(Saboteur):
    """Keeps the rewards of the best action back in the first quarter. It changes nothing, and costs nothing."""

    def tell(self, step: Happened, t: int) -> Happened | None:
        return None if t < self.problem.episodes // 4 and self.is_best(step) else step


ATTACKS: dict[str, type[Saboteur]] = {
    "clean": Saboteur,
    "decoy": Decoy,
    "stolen transitions": Thief,
    "unsure steps": Opportunist,
    "reward flips": Flipper,
    "withheld": Withholder,
}
