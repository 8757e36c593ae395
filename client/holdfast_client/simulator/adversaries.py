"""Who lies, and what for. Every lie is paid from an account that cannot be overdrawn.

A strong adversary sees the action and the honest reward first, and pays for what it changes. A weak one commits before
the choice to lie about one item, and pays for that whether or not the item is shown (|c_t| is its largest change).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdfast_client.simulator.problems import Round

SPARSE_SHARE = 0.05
THIN = 0.1
BURST_EVERY, BURST_LENGTH = 100, 10
FARM = ("farm-1", "farm-2", "farm-3")


class Moment(NamedTuple):
    """What a strong adversary sees: the round, the choice, its honest reward, and how unsure the learner was."""

    round: Round
    t: int
    chosen: int
    reward: float
    bonus: float = 0.0


Target = Callable[[Moment], float]
"""What the adversary would like a reward to be."""


def leave_alone(seen: Moment) -> float:
    return seen.reward


def suppress(seen: Moment) -> float:
    """Make the best look worthless."""
    return 0.0 if seen.chosen == seen.round.means.argmax() else seen.reward


def promote(seen: Moment) -> float:
    """Make the worst look perfect: a decoy."""
    return 1.0 if seen.chosen == seen.round.means.argmin() else seen.reward


def flip(seen: Moment) -> float:
    """Say the opposite."""
    return 1.0 - seen.reward


def kill_cold(seen: Moment) -> float:
    """Give the newly arrived item nothing but bad ratings."""
    return 0.0 if seen.chosen == seen.round.cold else seen.reward


def burst(seen: Moment) -> float:
    """A scanner that follows every link it finds: for a moment everything is rewarded."""
    return 1.0 if seen.t % BURST_EVERY < BURST_LENGTH else seen.reward


def thin(seen: Moment) -> float:
    """A little off the best, each time."""
    return max(0.0, seen.reward - THIN) if seen.chosen == seen.round.means.argmax() else seen.reward


@dataclass
class Sleeper:
    """Bots that behave until they have a history, then suppress the best."""

    start: int

    def __call__(self, seen: Moment) -> float:
        return seen.reward if seen.t < self.start else suppress(seen)


class Unsure:
    """Say the opposite wherever the learner is less sure than it usually is."""

    def __init__(self) -> None:
        self._seen, self._total = 0, 0.0

    def __call__(self, seen: Moment) -> float:
        self._seen += 1
        self._total += seen.bonus
        return flip(seen) if seen.bonus >= self._total / self._seen else seen.reward


class Sparse:
    """Now and then, any reward at all."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng((seed, 30))

    def __call__(self, seen: Moment) -> float:
        struck, said = self._rng.random(2)
        return float(said) if struck < SPARSE_SHARE else seen.reward


ATTACKS: dict[str, Target] = {
    "clean": leave_alone,
    "suppress": suppress,
    "promote": promote,
    "flip": flip,
    "cold item": kill_cold,
}


class Account:
    """What may still be spent. There is no way to spend more."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.spent = 0.0

    def grant(self, wanted: float) -> float:
        """As much of a change as the rest of the budget pays for.

        >>> account = Account(1.5)
        >>> account.grant(-1.0), account.grant(1.0), account.spent
        (-1.0, 0.5, 1.5)
        """
        left = self.budget - self.spent
        change = max(-left, min(left, wanted))
        self.spent += abs(change)
        assert self.spent <= self.budget + 1e-9
        return change


class Adversary:
    """Moves each reward as far towards its target as the budget still allows; `sources` are the names it lies under."""

    def __init__(self, target: Target, budget: float, is_weak: bool = False, sources: tuple[str, ...] = ()) -> None:
        self.target, self.is_weak, self.sources = target, is_weak, sources
        self.account = Account(budget)

    @property
    def spent(self) -> float:
        return self.account.spent

    def corrupt(self, seen: Moment) -> float:
        """What is said instead of the honest reward."""
        if self.is_weak:
            return self._as_committed(seen)
        return seen.reward + self.account.grant(self.target(seen) - seen.reward)

    def _as_committed(self, seen: Moment) -> float:
        """The lie of a round was fixed, and paid for, before anyone saw what would be shown."""
        wanted = [self.target(seen._replace(chosen=k, reward=float(m))) - m for k, m in enumerate(seen.round.means)]
        marked = int(np.abs(wanted).argmax())
        change = self.account.grant(float(wanted[marked]))
        return min(1.0, max(0.0, seen.reward + change)) if seen.chosen == marked else seen.reward

    def source(self, t: int, is_lie: bool) -> str:
        """Who says it: one of a thousand users, or one of a few that are paid."""
        return self.sources[t % len(self.sources)] if is_lie and self.sources else f"user-{t % 1000}"
