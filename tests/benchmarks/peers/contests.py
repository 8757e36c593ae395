"""The problems of the comparison: the simulator's environments and attackers, and the rows that everyone is given."""

from dataclasses import dataclass

import numpy as np

from holdfast.arrays import Array
from holdfast.functions import Fourier
from holdfast_client.simulator.adversaries import Adversary
from holdfast_client.simulator.environments import OPTIONS, Clicks, FixedCatalogue, FreshContexts
from holdfast_client.simulator.problems import Environment, Round
from holdfast_client.simulator.scenarios import SCENARIOS, Scenario
from tests.benchmarks.peers.questions import Question, Shape

ARRIVAL_SHARE = 8  # a cold item arrives after T/8
FREQUENCIES = 16


class AsGiven:
    """Candidates come with their rows."""

    def shape(self, environment: Environment) -> Shape:
        return Shape(environment.learner["features"]["action"], OPTIONS)

    def question(self, round_: Round) -> Question:
        return Question(round_.options)


class Lifted:
    """Random Fourier features of what the candidates come with, the same for everyone: all learners here are linear."""

    def __init__(self) -> None:
        self.map = Fourier(dimension=3, frequencies=FREQUENCIES)
        self.basis = self.map.init_basis()

    def shape(self, environment: Environment) -> Shape:
        return Shape(self.map.parameters, OPTIONS)

    def question(self, round_: Round) -> Question:
        rows: Array = self.map.lift(self.basis, round_.options)
        return Question(rows)


class Disjoint:
    """One context for all, and weights for each arm: a row is the context in its arm's block."""

    def shape(self, environment: Environment) -> Shape:
        context = environment.learner["features"]["context"]
        return Shape(context * OPTIONS, OPTIONS, context)

    def question(self, round_: Round) -> Question:
        context: Array = np.asarray(round_.context)
        rows: Array = np.kron(np.eye(OPTIONS), context)
        return Question(rows, context)


@dataclass(frozen=True)
class Contest:
    """A scenario of the simulator, and how its candidates become rows. `must` names what it has to show."""

    scenario: Scenario
    layout: type[AsGiven] | type[Lifted] | type[Disjoint] = AsGiven
    must: tuple[str, ...] = ()
    length: float = 1.0  # how long, compared with the others
    budget: float = 1.0  # how much is spent, compared with the others

    def world(self, seed: int, rounds: int) -> Environment:
        return self.scenario.environment(seed, rounds // ARRIVAL_SHARE if self.scenario.has_arrival else None)

    def adversary(self, seed: int, rounds: int, budget: float) -> Adversary:
        attacker = self.scenario.adversary(seed, rounds)
        return Adversary(attacker.target, budget)


LOWEST, HALF, FLAT = "lowest", "half", "flat"
CONTESTS = {
    "fixed catalogue": Contest(SCENARIOS["catalogue-suppress"], must=(LOWEST, HALF, FLAT)),
    "cold item": Contest(SCENARIOS["cold-item"], must=(LOWEST, HALF, FLAT)),
    "clicks": Contest(
        Scenario("clicks-suppress", "clicks on the best item are thrown away", Clicks, "suppress the best"),
        must=(LOWEST, FLAT),
        length=2.5,
        budget=2.5,
    ),
    "fresh contexts": Contest(
        Scenario("fresh-suppress", "the best of ten new items is pulled down", FreshContexts, "suppress the best"),
        length=1 / 3,
    ),
    "nonlinear": Contest(SCENARIOS["smooth-sparse"], Lifted, length=1 / 3),
    "digits": Contest(SCENARIOS["digits-flip"], Disjoint, length=1 / 3),
}
# One catalogue, three ways to spend: for what a unit of lies costs.
SPENT = {
    "suppress": Contest(SCENARIOS["catalogue-suppress"]),
    "promote": Contest(Scenario("catalogue-promote", "the worst is made to shine", FixedCatalogue, "promote a decoy")),
    "flip": Contest(SCENARIOS["catalogue-flip"]),
}
