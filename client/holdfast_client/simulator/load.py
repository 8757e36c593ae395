"""Load: calls on a schedule that does not wait for answers, from several processes, with the auditor on.

A call's latency counts from when it was due, not from when it could be sent: a service that stalls is charged for
every call that had to wait (no coordinated omission). Each worker is a process with its own learner, client and
auditor; who uses more CPU, the workers or the service, says which of the two was measured.
"""

import asyncio
import multiprocessing
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast_client import AsyncClient, Claim, Decision, HoldfastError, NotFound, Question
from holdfast_client.simulator.adversaries import Adversary, Moment
from holdfast_client.simulator.auditor import Auditor, Violation
from holdfast_client.simulator.network import AsyncFaultyTransport, Weather
from holdfast_client.simulator.problems import Round
from holdfast_client.simulator.processes import Busy, Usage, busy, usage_of
from holdfast_client.simulator.run import PATIENCE_S, PATIENT
from holdfast_client.simulator.scenarios import SCENARIOS
from holdfast_client.simulator.traffic import Arrivals, Post, schedule

PREPARED = 256  # rounds, made before the clock starts
IN_FLIGHT_MAX = 64  # calls of one worker; more wait, and their wait is counted
LOOK_UP_EVERY = 10  # calls
FULL = 0.85  # of a core
SAMPLE_EVERY_S = 0.25


@dataclass(frozen=True)
class Load:
    """What to send: `rate` decisions per second in all, `batch` to a call; without a rate, as fast as it goes."""

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
    busy: Busy = field(default_factory=lambda: Busy(0.0, 0.0))
    began_at_s: float = 0.0  # on the clock that all processes of a machine share
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)


@dataclass
class Measured:
    """All workers together, and the service's process second by second, if it is here."""

    load: Load
    told: list[Told]
    samples: list[Usage] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return max(told.seconds for told in self.told)

    @property
    def rate(self) -> float:
        """Decisions per second, each with its reward."""
        return sum(told.decisions for told in self.told) / self.seconds

    @property
    def failures(self) -> int:
        return sum(told.failures for told in self.told)

    @property
    def violations(self) -> list[Violation]:
        return [violation for told in self.told for violation in told.violations]

    def latencies_ms(self, after_s: float = 0.0, before_s: float = float("inf")) -> "np.ndarray[Any, Any]":
        """Of the calls that were due in this part of the run."""
        due = np.concatenate([told.due_s for told in self.told])
        taken = np.concatenate([told.latencies_s for told in self.told]) * 1e3
        chosen: np.ndarray[Any, Any] = taken[(due >= after_s) & (due < before_s)]
        return chosen

    def during(self) -> list[Usage]:
        """The samples while all workers worked: neither their start nor what the auditor reads afterwards."""
        began, ended = max(t.began_at_s for t in self.told), min(t.began_at_s + t.seconds for t in self.told)
        return [sample for sample in self.samples if began <= sample.at_s <= ended]

    def service(self) -> Busy | None:
        """Of the service, while all workers worked; nothing if its process is not here."""
        during = self.during()
        return busy(during[0], during[-1]) if len(during) > 1 else None

    def worker(self) -> Busy:
        """Of the busiest worker."""
        return max((told.busy for told in self.told), key=lambda one: one.wanted)

    def verdict(self) -> str:
        """Which of the two was at its limit; on a crowded machine that is wanting a core, not having it."""
        theirs, ours = self.service(), self.worker()
        if theirs is None:
            return f"the busiest worker used {ours}; the service's process is not on this machine"
        both = f"service {theirs}, busiest worker {ours}"
        if theirs.wanted >= FULL and theirs.wanted >= ours.wanted:
            return f"the service is the bottleneck: {both}"
        if ours.wanted >= FULL:
            return f"THE SIMULATOR IS THE BOTTLENECK, so are the latencies: {both}; try more --workers or --batch"
        return f"neither is at its limit: {both}"


Progress = Callable[[float, Usage | None], None]
"""Told every moment: seconds so far, and what the service has used, if it is here."""


def put_on(url: str, load: Load, pid: int | None = None, progress: Progress = lambda seconds, usage: None) -> Measured:
    """The whole load, from `workers` processes."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(load.workers) as pool:
        pending = pool.starmap_async(_work, [(url, load, number) for number in range(load.workers)], chunksize=1)
        samples = list(_sampled(pending, pid, progress))
        return Measured(load, pending.get(), samples)


def _sampled(pending: Any, pid: int | None, progress: Progress) -> Iterator[Usage]:
    """The service's process while the workers work."""
    started = time.perf_counter()
    while not pending.ready():
        usage = usage_of(pid) if pid is not None else None
        progress(time.perf_counter() - started, usage)
        if usage is not None:
            yield usage
        pending.wait(SAMPLE_EVERY_S)


def _work(url: str, load: Load, number: int) -> Told:
    return asyncio.run(_Worker(url, load, number).finish())


class _Worker:
    """One process of callers."""

    def __init__(self, url: str, load: Load, number: int) -> None:
        self.load, self.scenario = load, SCENARIOS[load.scenario]
        self.seed = load.seed * 1_000 + number
        world = self.scenario.world(self.seed, PREPARED)
        self.world, self.rounds = world, [world.round(t) for t in range(PREPARED)]
        self.prepared = [{"actions": r.actions(), "context": r.context, "ranking": "chosen"} for r in self.rounds]
        self.adversary: Adversary = self.scenario.adversary(self.seed, PREPARED)
        self.post: Post[Claim] = Post(self.scenario.traffic, self.seed)
        self.settings = self.scenario.settings(world, self.seed) | dict(load.settings)
        self.auditor = Auditor(self.settings["corruption"].get("budget") != 0)
        self.rng = np.random.default_rng((self.seed, 21))
        self.told = Told()
        self.learner = f"load-{self.scenario.id}-{uuid.uuid4().hex[:12]}"
        dropped = self.scenario.traffic.dropped if load.dropped is None else load.dropped
        transport = AsyncFaultyTransport(Weather(share=dropped, seed=self.seed)) if dropped else None
        patience = {"timeout": PATIENCE_S, "decision_timeout": PATIENCE_S, "retries": PATIENT}
        self.client = AsyncClient(url, transport=transport, **patience)  # type: ignore[arg-type]

    async def finish(self) -> Told:
        async with self.client:
            await self.client.create_learner(self.learner, **self.settings)
            started, before = time.perf_counter(), usage_of(os.getpid())
            if self.load.rate is None:
                await self._as_fast_as_it_goes(started)
            else:
                await self._on_schedule(started, self.load.rate / self.load.batch / self.load.workers)
            await self._reward(self.post.arrived(None))
            self.told.began_at_s = started
            self.told.seconds, self.told.busy = time.perf_counter() - started, busy(before, usage_of(os.getpid()))
            await self._settle()
        return self.told

    async def _on_schedule(self, started: float, calls_per_s: float) -> None:
        room = asyncio.Semaphore(IN_FLIGHT_MAX)
        async with asyncio.TaskGroup() as group:
            dues = schedule(self.load.arrivals, calls_per_s, self.load.duration_s, self.seed)
            for call, due in enumerate(dues):
                await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
                await room.acquire()
                task = group.create_task(self._call(call, started, due))
                task.add_done_callback(lambda _: room.release())

    async def _as_fast_as_it_goes(self, started: float) -> None:
        """A closed loop of a few callers: what the service can do at most."""
        calls = iter(range(2**62))

        async def caller() -> None:
            while (now := time.perf_counter() - started) < self.load.duration_s:
                await self._call(next(calls), started, now)

        await asyncio.gather(*(caller() for _ in range(4)))

    async def _call(self, call: int, started: float, due: float) -> None:
        """A batch of decisions, then the rewards that have arrived by now."""
        first = call * self.load.batch
        names = [f"d-{first + place}" for place in range(self.load.batch)]
        prepared = [self.prepared[(first + place) % PREPARED] for place in range(self.load.batch)]
        questions: list[Question] = [{**q, "decision_id": n} for q, n in zip(prepared, names, strict=True)]  # type: ignore[typeddict-item]
        self.auditor.ask(names)
        try:
            made = await self.client.decide_many(self.learner, questions)
            self.told.due_s.append(due)
            self.told.latencies_s.append(time.perf_counter() - started - due)
            self.auditor.decided(made)
            self.told.decisions += len(made)
            for t, decision in enumerate(made, start=first):
                self.post.take(self._claim(t, self.rounds[t % PREPARED], decision), call)
            await self._reward(self.post.arrived(call))
            if call % LOOK_UP_EVERY == 0:
                await self._look_up(names[-1])
        except HoldfastError:
            self.told.failures += 1

    def _claim(self, t: int, round_: Round, decision: Decision) -> Claim:
        chosen = decision.action.index
        honest = self.world.reward(self.rng, round_, chosen)
        value = self.adversary.corrupt(Moment(round_, t, chosen, honest))
        return {
            "decision_id": decision.decision_id,
            "value": value,
            "source": self.adversary.source(t, value != honest),
        }

    async def _reward(self, claims: list[Claim]) -> None:
        if not claims:
            return
        self.auditor.claim(claims)
        results = await self.client.reward_many(self.learner, claims)
        self.told.rewards += len(results)
        self.auditor.rewarded(claims, results)

    async def _look_up(self, name: str) -> None:
        owed = self.auditor.owed(name)
        try:
            self.auditor.look_up(name, owed, await self.client.decision(self.learner, name))
        except NotFound as problem:
            self.auditor.look_up(name, owed, problem)

    async def _settle(self) -> None:
        async for event in self.client.log(self.learner):
            self.auditor.see(event)
        self.auditor.close()
        self.auditor.compare(await self.client.diagnostics(self.learner), self.adversary.spent)
        self.told.violations = self.auditor.violations
        if not self.told.violations:
            await self.client.delete_learner(self.learner)
