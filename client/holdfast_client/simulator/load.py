"""Load: calls on a schedule that does not wait for answers, from several processes, with the auditor on.

A call's latency counts from when it was due, not from when it could be sent: a service that stalls is charged for
every call that had to wait (no coordinated omission). Each worker is a process with its own learner, client and
auditor; who uses more CPU, the workers or the service, says which of the two was measured.
"""

import asyncio
import gc
import multiprocessing
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.pool import Pool
from typing import Any, NamedTuple

import numpy as np

from holdfast_client import Client, HoldfastError, NotFound
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.processes import Busy, Usage, busy, usage_of
from holdfast_client.simulator.run import CLEAR_WITHIN_S
from holdfast_client.simulator.scenarios import SCENARIOS
from holdfast_client.simulator.session_worker import SessionWorker
from holdfast_client.simulator.sessions import SESSIONS
from holdfast_client.simulator.workers import DecisionWorker, Load, Told, Worker

WORKERS_MAX = 64
FULL = 0.85  # of a core
SAMPLE_EVERY_S = 0.25
YOUNG_ONLY = (1_000, 10, 2**30)  # how often Python looks for garbage among the new, the middle-aged and the old


class NoAnswerAtAll(ValueError):
    """A load of which nothing can be said."""


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
    def problem(self) -> str:
        """Of the first call that failed, if one did."""
        return next((told.problem for told in self.told if told.problem), "")

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
        both = f"service {theirs or 'not watched (not started here, or not for long)'}, busiest worker {ours}"
        if theirs is not None and theirs.wanted >= FULL and theirs.wanted >= ours.wanted:
            return f"the service is the bottleneck: {both}"
        if ours.wanted >= FULL:
            return f"THE SIMULATOR IS THE BOTTLENECK, so are the latencies: {both}; try more --workers or --batch"
        return f"{'the simulator is not' if theirs is None else 'neither is'} at its limit: {both}"


class Job(NamedTuple):
    """What one process is told."""

    url: str
    load: Load
    learner: str
    seed: int


def jobs_of(url: str, load: Load) -> list[Job]:
    """One for each worker: a learner and a seed of its own."""
    return [
        Job(url, load, f"load-{load.scenario}-{uuid.uuid4().hex[:12]}", load.seed * WORKERS_MAX + number)
        for number in range(load.workers)
    ]


Progress = Callable[[float, Usage | None], None]
"""Told every moment: seconds so far, and what the service has used, if it is here."""


def put_on(url: str, load: Load, pid: int | None = None, progress: Progress = lambda seconds, usage: None) -> Measured:
    """The whole load, from `workers` processes; what is broken off leaves no learner behind."""
    jobs = jobs_of(url, load)
    try:
        with _pool(load.workers) as pool:
            pending = pool.starmap_async(_work, jobs, chunksize=1)
            samples = list(_sampled(pending, pid, progress))
            measured = Measured(load, pending.get(), samples)
    except BaseException:
        _clear(url, [job.learner for job in jobs])
        raise
    if not len(measured.latencies_ms()):
        raise NoAnswerAtAll(f"no call was answered; {measured.failures} failed, the first with: {measured.problem}")
    return measured


def _pool(workers: int) -> Pool:
    """Processes that are deaf to Ctrl-C, which reaches all of a terminal: who started them stops them."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return multiprocessing.get_context("spawn").Pool(workers)
    finally:
        signal.signal(signal.SIGINT, before)


def _clear(url: str, names: list[str]) -> None:
    with suppress(HoldfastError), Client(url, timeout=CLEAR_WITHIN_S) as client:
        for name in names:
            with suppress(NotFound):
                client.delete_learner(name)


def _sampled(pending: Any, pid: int | None, progress: Progress) -> Iterator[Usage]:
    """The service's process while the workers work."""
    started = time.perf_counter()
    while not pending.ready():
        usage = usage_of(pid) if pid is not None else None
        progress(time.perf_counter() - started, usage)
        if usage is not None:
            yield usage
        pending.wait(SAMPLE_EVERY_S)


def _work(url: str, load: Load, learner: str, seed: int) -> Told:
    gc.set_threshold(*YOUNG_ONLY)  # the auditor keeps all it is told: looking through it again stalls the callers
    return asyncio.run(_worker(url, load, learner, seed).finish())


def _worker(url: str, load: Load, learner: str, seed: int) -> Worker:
    if load.scenario in SESSIONS:
        return SessionWorker(url, load, SESSIONS[load.scenario], learner, seed)
    return DecisionWorker(url, load, SCENARIOS[load.scenario], learner, seed)
