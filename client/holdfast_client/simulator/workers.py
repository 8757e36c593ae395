"""The processes of a load: calls on a schedule that does not wait for answers, a learner and an auditor for each."""

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast_client import AsyncClient, Claim, Decision, HoldfastError, NotFound, Question
from holdfast_client.simulator.adversaries import Adversary, Moment
from holdfast_client.simulator.auditor import Auditor, Violation
from holdfast_client.simulator.network import AsyncFaultyTransport, Weather
from holdfast_client.simulator.problems import Round
from holdfast_client.simulator.processes import Busy, busy, usage_of
from holdfast_client.simulator.run import PATIENCE_S, PATIENT, REWARDS_MAX, is_insured
from holdfast_client.simulator.scenarios import Scenario
from holdfast_client.simulator.traffic import Arrivals, Post, Traffic, schedule

PREPARED = 256  # rounds, made before the clock starts
IN_FLIGHT_MAX = 64  # calls of one worker; more wait, and their wait is counted
CALLERS = 4  # of one worker that goes as fast as it can
LOOK_UP_EVERY = 10  # calls


@dataclass(frozen=True)
class Load:
    """What to send: `rate` decisions per second in all, `batch` to a call; without a rate, as fast as it goes.

    In sessions a decision is a step, and whole sessions come on the schedule.
    """

    scenario: str
    duration_s: float
    rate: float | None = None
    workers: int = 1
    batch: int = 1
    seed: int = 0
    arrivals: Arrivals = "constant"
    dropped: float | None = None  # share of requests; the scenario's own unless told otherwise
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the learner, that win over the scenario's


@dataclass
class Told:
    """What one worker has to say."""

    due_s: list[float] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    decisions: int = 0
    rewards: int = 0
    failures: int = 0
    problem: str = ""  # of the first failure
    busy: Busy = field(default_factory=lambda: Busy(0.0, 0.0))
    began_at_s: float = 0.0  # on the clock that all processes of a machine share
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)


class Worker(ABC):
    """One process of callers."""

    decisions_per_call: int

    def __init__(self, url: str, load: Load, learner: str, seed: int, traffic: Traffic) -> None:
        self.load, self.learner, self.seed, self.traffic = load, learner, seed, traffic
        self.told = Told()
        dropped = traffic.dropped if load.dropped is None else load.dropped
        transport = AsyncFaultyTransport(Weather(share=dropped, seed=seed)) if dropped else None
        patience = {"timeout": PATIENCE_S, "decision_timeout": PATIENCE_S, "retries": PATIENT}
        self.client = AsyncClient(url, transport=transport, **patience)  # type: ignore[arg-type]
        self.settings: dict[str, Any] = {}  # of the learner

    @abstractmethod
    async def call(self, call: int, started: float, due: float) -> None:
        """What is due at this moment, and everything that follows from it."""

    @abstractmethod
    async def rest(self) -> None:
        """What is still on its way when the time is over."""

    @abstractmethod
    async def settle(self) -> list[Violation]:
        """What was told against what is kept."""

    async def finish(self) -> Told:
        async with self.client:
            await self.client.create_learner(self.learner, **self.settings)
            started, before = time.perf_counter(), usage_of(os.getpid())
            if self.load.rate is None:
                await self._as_fast_as_it_goes(started)
            else:
                await self._on_schedule(started, self.load.rate / self.decisions_per_call / self.load.workers)
            await self._bearing(self.rest())
            self.told.began_at_s = started
            self.told.seconds, self.told.busy = time.perf_counter() - started, busy(before, usage_of(os.getpid()))
            self.told.violations = await self.settle()
            if not self.told.violations:
                await self.client.delete_learner(self.learner)
        return self.told

    async def _on_schedule(self, started: float, calls_per_s: float) -> None:
        room = asyncio.Semaphore(IN_FLIGHT_MAX)
        async with asyncio.TaskGroup() as group:
            dues = schedule(self.load.arrivals, calls_per_s, self.load.duration_s, self.seed)
            for call, due in enumerate(dues):
                await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
                await room.acquire()
                task = group.create_task(self._bearing(self.call(call, started, due)))
                task.add_done_callback(lambda _: room.release())

    async def _as_fast_as_it_goes(self, started: float) -> None:
        """A closed loop of a few callers: what the service can do at most."""
        calls = iter(range(2**62))

        async def caller() -> None:
            while (now := time.perf_counter() - started) < self.load.duration_s:
                await self._bearing(self.call(next(calls), started, now))

        await asyncio.gather(*(caller() for _ in range(CALLERS)))

    async def _bearing(self, call: Coroutine[Any, Any, None]) -> None:
        """A call that fails is counted, and the load goes on."""
        try:
            await call
        except HoldfastError as problem:
            self.told.failures += 1
            self.told.problem = self.told.problem or str(problem)

    def note(self, started: float, due: float, decisions: int) -> None:
        """An answer: its latency counts from when it was due."""
        self.told.due_s.append(due)
        self.told.latencies_s.append(time.perf_counter() - started - due)
        self.told.decisions += decisions


class DecisionWorker(Worker):
    """Batches of single decisions, and their rewards."""

    def __init__(self, url: str, load: Load, scenario: Scenario, learner: str, seed: int) -> None:
        super().__init__(url, load, learner, seed, scenario.traffic)
        self.decisions_per_call = load.batch
        world = scenario.world(seed, PREPARED)
        self.world, self.rounds = world, [world.round(t) for t in range(PREPARED)]
        self.prepared = [{"actions": r.actions(), "context": r.context, "ranking": "chosen"} for r in self.rounds]
        self.adversary: Adversary = scenario.adversary(seed, PREPARED)
        self.post: Post[Claim] = Post(scenario.traffic, seed)
        self.settings = scenario.settings(world, seed) | dict(load.settings)
        self.auditor = Auditor(is_insured(self.settings))
        self.rng = np.random.default_rng((seed, 21))

    async def call(self, call: int, started: float, due: float) -> None:
        """A batch of decisions, then the rewards that have arrived by now."""
        first = call * self.load.batch
        names = [f"d-{first + place}" for place in range(self.load.batch)]
        prepared = [self.prepared[(first + place) % PREPARED] for place in range(self.load.batch)]
        questions: list[Question] = [{**q, "decision_id": n} for q, n in zip(prepared, names, strict=True)]  # type: ignore[typeddict-item]
        self.auditor.ask(names)
        made = await self.client.decide_many(self.learner, questions)
        self.note(started, due, len(made))
        self.auditor.decided(made)
        for t, decision in enumerate(made, start=first):
            self.post.take(self._claim(t, self.rounds[t % PREPARED], decision), call)
        await self._reward(self.post.arrived(call))
        if call % LOOK_UP_EVERY == 0:
            await self._look_up(names[-1])

    async def rest(self) -> None:
        await self._reward(self.post.arrived(None))

    def _claim(self, t: int, round_: Round, decision: Decision) -> Claim:
        chosen = decision.action.index
        honest = self.world.reward(self.rng, round_, chosen)
        bonus = decision.ranking[0].bonus if decision.ranking else 0.0
        value = self.adversary.corrupt(Moment(round_, t, chosen, honest, bonus))
        source = self.adversary.source(t, value != honest)
        return {"decision_id": decision.decision_id, "value": value, "source": source}

    async def _reward(self, claims: Sequence[Claim]) -> None:
        for start in range(0, len(claims), REWARDS_MAX):
            some = claims[start : start + REWARDS_MAX]
            self.auditor.claim(some)
            results = await self.client.reward_many(self.learner, some)
            self.told.rewards += len(results)
            self.auditor.rewarded(some, results)

    async def _look_up(self, name: str) -> None:
        owed = self.auditor.owed(name)
        try:
            self.auditor.look_up(name, owed, await self.client.decision(self.learner, name))
        except NotFound as problem:
            self.auditor.look_up(name, owed, problem)

    async def settle(self) -> list[Violation]:
        async for event in self.client.log(self.learner):
            self.auditor.see(event)
        self.auditor.close()
        self.auditor.compare(await self.client.diagnostics(self.learner), self.adversary.spent)
        return self.auditor.violations
