"""Every scenario as data: an environment, who attacks it, and what the network does. Ids are stable."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from holdfast_client.simulator.adversaries import (
    FARM,
    Adversary,
    Sleeper,
    Sparse,
    Target,
    Unsure,
    burst,
    flip,
    kill_cold,
    leave_alone,
    promote,
    suppress,
    thin,
)
from holdfast_client.simulator.environments import (
    Clicks,
    DriftingUsers,
    FixedCatalogue,
    FreshContexts,
    Logistic,
    Smooth,
)
from holdfast_client.simulator.problems import Environment
from holdfast_client.simulator.recorded import Digits, Segments
from holdfast_client.simulator.traffic import Traffic

# What an attack aims at; those with a memory are made anew for every run, from its seed and length.
AIMS: dict[str, Callable[[int, int], Target]] = {
    "nobody": lambda seed, rounds: leave_alone,
    "suppress the best": lambda seed, rounds: suppress,
    "promote a decoy": lambda seed, rounds: promote,
    "kill a cold item": lambda seed, rounds: kill_cold,
    "flip": lambda seed, rounds: flip,
    "strike where unsure": lambda seed, rounds: Unsure(),
    "sleeper bots": lambda seed, rounds: Sleeper(rounds // 2),
    "click farm": lambda seed, rounds: promote,
    "scanner bursts": lambda seed, rounds: burst,
    "spread thin": lambda seed, rounds: thin,
    "random sparse": lambda seed, rounds: Sparse(seed),
}
LATE = Traffic(delay=3.0, missing=0.02, duplicate=0.05, reordered=0.2)
BAD_NETWORK = Traffic(delay=1.0, duplicate=0.05, reordered=0.1, dropped=0.1)
ARRIVAL_SHARE = 0.1  # of the rounds, before a cold item arrives


@dataclass(frozen=True)
class Scenario:
    """One line of `holdfast simulate list`."""

    id: str
    about: str
    environment: Callable[[int, int | None], Environment]
    aim: str = "nobody"
    budget: float = 10.0  # of the attacker, in rewards of size 1
    insured: float = 10.0  # for how much the learner is
    is_weak: bool = False
    has_arrival: bool = False
    traffic: Traffic = field(default_factory=Traffic)

    def world(self, seed: int, rounds: int) -> Environment:
        return self.environment(seed, int(rounds * ARRIVAL_SHARE) if self.has_arrival else None)

    def adversary(self, seed: int, rounds: int) -> Adversary:
        sources = FARM if self.aim == "click farm" else ()
        return Adversary(AIMS[self.aim](seed, rounds), self.budget, self.is_weak, sources)

    def settings(self, environment: Environment, seed: int) -> dict[str, Any]:
        """The learner, insured; a decision waits for its reward longer than any run takes."""
        reward = {"wait_s": 86_400, "default": None}
        return {**environment.learner, "corruption": {"budget": self.insured}, "reward": reward, "seed": seed}


def _smooth(seed: int, arrival: int | None) -> Environment:
    return Smooth(seed, 2, arrival)


_ALL = (
    Scenario("catalogue-clean", "ten rated items, nobody lies", FixedCatalogue, budget=0.0),
    Scenario("catalogue-suppress", "the best item's ratings are pulled down", FixedCatalogue, "suppress the best"),
    Scenario("catalogue-flip", "every rating is turned round while the money lasts", FixedCatalogue, "flip"),
    Scenario(
        "catalogue-weak", "lies agreed on before the choice is known", FixedCatalogue, "suppress the best", is_weak=True
    ),
    Scenario(
        "cold-item",
        "the best arrives, its first ratings are fake",
        FixedCatalogue,
        "kill a cold item",
        has_arrival=True,
    ),
    Scenario(
        "cold-item-fresh",
        "the same among items that are all new",
        FreshContexts,
        "kill a cold item",
        has_arrival=True,
    ),
    Scenario("clicks-farm", "three sources click a decoy", Clicks, "click farm"),
    Scenario("clicks-scanner", "link scanners click everything, in bursts", Clicks, "scanner bursts"),
    Scenario("clicks-late", "clicks come late, twice, out of order or never", Clicks, budget=0.0, traffic=LATE),
    Scenario("clicks-sleepers", "bots behave for a while, then bury the best", Clicks, "sleeper bots", traffic=LATE),
    Scenario("fresh-thin", "a tenth off the best, each time", FreshContexts, "spread thin"),
    Scenario(
        "fresh-network",
        "connections break, answers get lost; nobody lies",
        FreshContexts,
        budget=0.0,
        traffic=BAD_NETWORK,
    ),
    Scenario("drift-unsure", "tastes wander; lies where the learner is unsure", DriftingUsers, "strike where unsure"),
    Scenario("smooth-sparse", "a crest that follows the context; random lies", _smooth, "random sparse"),
    Scenario("logistic-decoy", "logistic clicks; the worst item is made to shine", Logistic, "promote a decoy"),
    Scenario("segments-suppress", "JSON features; each segment's favourite is buried", Segments, "suppress the best"),
    Scenario("digits-flip", "real handwritten digits; right and wrong are swapped", Digits, "flip"),
)
SCENARIOS = {scenario.id: scenario for scenario in _ALL}
