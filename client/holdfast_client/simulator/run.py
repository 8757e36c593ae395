"""One scenario against a live service: rounds in batches, lies, a bad network, and an account of it all.

Everything is drawn from one seed and calls follow one another, so two runs with one seed end with the same regret to
the digit. (For speed and concurrency see `load`.)
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast_client import Claim, Client, Decision, HoldfastError, NotFound, Question, Retries
from holdfast_client.simulator.adversaries import Adversary, Moment
from holdfast_client.simulator.auditor import Auditor, Violation
from holdfast_client.simulator.network import FaultyTransport, Weather
from holdfast_client.simulator.problems import Array, Environment, Round
from holdfast_client.simulator.scenarios import Scenario
from holdfast_client.simulator.sessions import SessionRun, SessionScenario
from holdfast_client.simulator.traffic import Post

BATCH = 20
REWARDS_MAX = 1_000  # in one call
PATIENCE_S = 60.0
CLEAR_WITHIN_S = 5.0
PATIENT = Retries(most=100, first_pause_s=0.02, pause_s_max=0.5)


def is_insured(settings: Mapping[str, Any]) -> bool:
    """Every learner is, unless its settings say that it insures against nothing."""
    corruption = settings.get("corruption")
    return not (isinstance(corruption, Mapping) and corruption.get("budget") == 0)


@dataclass(frozen=True)
class Plan:
    """What to run. `settings` win over those of the scenario's learner."""

    scenario: Scenario | SessionScenario
    rounds: int = 2_000
    seed: int = 0
    batch: int = BATCH
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_insured(self) -> bool:
        return is_insured({"corruption": {"budget": self.scenario.insured}} | dict(self.settings))


@dataclass
class Account:
    """What happened, round by round and call by call."""

    plan: Plan
    regret: list[float] = field(default_factory=list)  # cumulative
    spent: list[float] = field(default_factory=list)  # cumulative
    weights: list[float] = field(default_factory=list)  # of rewards, as they were learned
    latencies_s: list[float] = field(default_factory=list)  # of calls
    violations: list[Violation] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def note(self, round_: Round, chosen: int, spent: float) -> None:
        """The truth: what the best would have been worth, and what this was."""
        before = self.regret[-1] if self.regret else 0.0
        self.regret.append(before + float(round_.means.max() - round_.means[chosen]))
        self.spent.append(spent)

    def latency_ms(self, quantile: float) -> float:
        return float(np.quantile(self.latencies_s, quantile)) * 1e3 if self.latencies_s else 0.0

    def curve(self) -> Array:
        return np.array(self.regret)


Progress = Callable[[Account], None]


@contextmanager
def connected(url: str, dropped: float = 0.0, seed: int = 0) -> Iterator[Client]:
    """A patient client, on a network that drops this share of requests."""
    transport = FaultyTransport(Weather(share=dropped, seed=seed)) if dropped else None
    settings = {"timeout": PATIENCE_S, "decision_timeout": PATIENCE_S, "retries": PATIENT}
    with Client(url, transport=transport, **settings) as client:  # type: ignore[arg-type]
        yield client


@contextmanager
def lent(client: Client, name: str, settings: Mapping[str, Any], broken: Sequence[Violation]) -> Iterator[None]:
    """A learner for as long as a run takes, also one that is broken off; kept only if something is broken about it."""
    client.create_learner(name, **settings)
    try:
        yield
    finally:
        if not broken:
            with suppress(HoldfastError):  # an error that is under way says more
                client.delete_learner(name, timeout=CLEAR_WITHIN_S)


def run(url: str, plan: Plan, progress: Progress = lambda account: None) -> Account:
    """The whole of it, with a learner of its own."""
    scenario = plan.scenario
    if isinstance(scenario, SessionScenario):
        return _run_sessions(url, plan, scenario, progress)
    world = scenario.world(plan.seed, plan.rounds)
    settings = scenario.settings(world, plan.seed) | dict(plan.settings)
    name = f"sim-{scenario.id}-{uuid.uuid4().hex[:12]}"
    with connected(url, scenario.traffic.dropped, plan.seed) as client:
        under_way = _Run(client, name, plan, scenario, world)
        with lent(client, name, settings, under_way.auditor.violations):
            return under_way.finish(progress)


def _run_sessions(url: str, plan: Plan, scenario: SessionScenario, progress: Progress) -> Account:
    """As many episodes as it takes to make the rounds; calls are steps, whatever the batch."""
    started = time.perf_counter()
    with connected(url, scenario.traffic.dropped, plan.seed) as client:
        under_way, episodes = SessionRun(client, scenario, plan.seed, plan.is_insured), 0
        settings = scenario.settings(under_way.problem, plan.seed) | dict(plan.settings)
        account = Account(plan, under_way.regret, under_way.spent, [], under_way.latencies_s)
        with lent(client, under_way.learner, settings, under_way.auditor.violations):
            while len(account.regret) < plan.rounds:
                under_way.play(episodes)
                episodes += 1
                progress(account)
            account.seconds = time.perf_counter() - started
            account.violations = under_way.settle()
    account.weights = under_way.auditor.weights
    told = under_way.auditor
    account.counts = {
        "episodes": episodes, "decisions": len(told.steps), "rewards": len(told.rewards),
        "duplicates": told.duplicates, "missing": under_way.post.missing,
    }  # fmt: skip
    return account


class _Run:
    """One run under way."""

    def __init__(self, client: Client, learner: str, plan: Plan, scenario: Scenario, world: Environment) -> None:
        self.client, self.learner, self.plan, self.world = client, learner, plan, world
        self.adversary: Adversary = scenario.adversary(plan.seed, plan.rounds)
        self.post: Post[Claim] = Post(scenario.traffic, plan.seed)
        self.auditor = Auditor(plan.is_insured)
        self.account = Account(plan)
        self.rng = np.random.default_rng((plan.seed, 20))

    def finish(self, progress: Progress) -> Account:
        started = time.perf_counter()
        for call, start in enumerate(range(0, self.plan.rounds, self.plan.batch)):
            times = range(start, min(start + self.plan.batch, self.plan.rounds))
            rounds = [self.world.round(t) for t in times]
            made = self.decide(times, rounds)
            for t, round_, decision in zip(times, rounds, made, strict=True):
                self.post.take(self.claim(t, round_, decision), call)
            self.reward(self.post.arrived(call))
            progress(self.account)
        self.reward(self.post.arrived(None))
        self.account.seconds = time.perf_counter() - started
        self.settle()
        return self.account

    def decide(self, times: range, rounds: list[Round]) -> list[Decision]:
        questions: list[Question] = [
            {"actions": r.actions(), "context": r.context, "decision_id": f"d-{t}", "ranking": "chosen"}  # type: ignore[typeddict-item]
            for t, r in zip(times, rounds, strict=True)
        ]
        self.auditor.ask(question["decision_id"] for question in questions)
        with self.timed():
            made = self.client.decide_many(self.learner, questions)
        self.auditor.decided(made)
        self.look_up(made[-1].decision_id)
        return made

    def claim(self, t: int, round_: Round, decision: Decision) -> Claim:
        """What is said of this decision, honest or not."""
        chosen = decision.action.index
        honest = self.world.reward(self.rng, round_, chosen)
        bonus = decision.ranking[0].bonus if decision.ranking else 0.0
        value = self.adversary.corrupt(Moment(round_, t, chosen, honest, bonus))
        self.account.note(round_, chosen, self.adversary.spent)
        source = self.adversary.source(t, value != honest)
        return {"decision_id": decision.decision_id, "value": value, "source": source}

    def reward(self, claims: list[Claim]) -> None:
        for start in range(0, len(claims), REWARDS_MAX):
            some = claims[start : start + REWARDS_MAX]
            self.auditor.claim(some)
            with self.timed():
                results = self.client.reward_many(self.learner, some)
            self.auditor.rewarded(some, results)
            self.account.weights += [r.weight for r in results if r.outcome == "learned" and r.weight is not None]
            self.look_up(some[-1]["decision_id"])

    def look_up(self, name: str) -> None:
        """Ask for what was just acknowledged."""
        owed = self.auditor.owed(name)
        try:
            self.auditor.look_up(name, owed, self.client.decision(self.learner, name))
        except NotFound as problem:
            self.auditor.look_up(name, owed, problem)

    def settle(self) -> None:
        self.auditor.settle(self.client.log(self.learner))
        self.auditor.compare(self.client.diagnostics(self.learner), self.adversary.spent)
        self.account.violations = self.auditor.violations
        self.account.counts = {
            "decisions": len(self.auditor.decisions),
            "rewards": len(self.auditor.rewards),
            "duplicates": self.auditor.duplicates,
            "missing": self.post.missing,
        }

    @contextmanager
    def timed(self) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.account.latencies_s.append(time.perf_counter() - started)
