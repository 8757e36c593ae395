"""kill -9 at random moments under load, and an audit after each: nothing lost, double, ghostly or misremembered.

kill -9 does not try power loss: the page cache survives it. What is shown is that an answer means committed.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from random import Random
from statistics import median
from typing import NamedTuple

import httpx
from sqlalchemy.engine import URL

from tests.acceptance.server import Server, serving
from tests.chaos.audit import Fault, Kind, audit
from tests.chaos.load import Load, call_until_told_to_stop

CALLERS = 6
CALLS_PER_ROUND_MAX = 500  # of one caller
LEARNERS = 2  # served at the same time
KILLS_PER_LEARNER = 10  # then new ones, so that an audit can afford to read whole logs
KILL_WITHIN_S = (0.05, 0.8)
GO_ON_WITHIN_S = (0.0, 0.2)
WAIT_S = 1.5  # short, so that expiries are among the events
CALL_TIMEOUT_S = 15.0

SAVING_OFTEN = "import tests.chaos.mutants as m; m.save_often(); "


class Report(NamedTuple):
    """What came of a run."""

    kills: int
    acknowledged: int
    repeated: int
    faults: frozenset[Fault]
    restarts_s: tuple[float, ...]

    def count(self, kind: Kind) -> int:
        return Counter(fault.kind for fault in self.faults)[kind]

    def median_restart_s(self) -> float:
        return median(self.restarts_s)


class Chaos:
    """One server, its callers, and what was found so far."""

    def __init__(self, server: Server, callers: list[httpx.Client], seed: int) -> None:
        self._server, self._callers, self._seed = server, callers, seed
        self._rng = Random(f"{seed}/moments")
        self._caller_rngs = [Random(f"{seed}/caller {number}") for number in range(len(callers))]
        self._loads: list[Load] = []
        self._faults: set[Fault] = set()
        self._restarts_s: list[float] = []

    def kill_under_load(self) -> None:
        """One round: load, kill, restart, more load, and an audit when every call has its answer."""
        if len(self._restarts_s) % KILLS_PER_LEARNER == 0:
            self._loads.append(self._new_load())
        load, told = self._loads[-1], threading.Event()
        with ThreadPoolExecutor(len(self._callers)) as pool:
            calling = [
                pool.submit(call_until_told_to_stop, load, http, rng, CALLS_PER_ROUND_MAX, told)
                for http, rng in zip(self._callers, self._caller_rngs, strict=True)
            ]
            try:
                time.sleep(self._rng.uniform(*KILL_WITHIN_S))
                self._kill_and_restart()
                time.sleep(self._rng.uniform(*GO_ON_WITHIN_S))
            finally:
                told.set()
        for caller in calling:
            caller.result()
        self._audit(load)

    def report(self) -> Report:
        """After a last look at every learner there ever was."""
        for load in self._loads:
            self._audit(load)
        ledgers = [load.ledger for load in self._loads]
        return Report(
            kills=len(self._restarts_s),
            acknowledged=sum(ledger.acknowledged() for ledger in ledgers),
            repeated=sum(ledger.repeated() for ledger in ledgers),
            faults=frozenset(self._faults),
            restarts_s=tuple(self._restarts_s),
        )

    def found_something(self) -> bool:
        return bool(self._faults)

    def _new_load(self) -> Load:
        names = [f"generation-{len(self._loads)}-{number}" for number in range(LEARNERS)]
        new_learners(self._server, names)
        return Load(self._seed, names)

    def _kill_and_restart(self) -> None:
        self._server.kill()
        killed = time.monotonic()
        self._server.start()
        self._restarts_s.append(time.monotonic() - killed)

    def _audit(self, load: Load) -> None:
        for learner in load.learners:
            when = f"after kill {len(self._restarts_s)}"
            self._faults |= audit(self._server.http, learner, load.ledger, when)


def new_learners(server: Server, names: list[str]) -> None:
    for name in names:
        features = {"kind": "dense", "context": 2, "action": 1}
        body = {"name": name, "kind": "bandit", "features": features, "reward": {"wait_s": WAIT_S}}
        assert server.post("/v1/learners", body | {"corruption": {"budget": 5.0}}).status_code == 201


@contextmanager
def chaos_on(url: URL, seed: int, prelude: str) -> Iterator[Chaos]:
    with ExitStack() as stack:
        server = stack.enter_context(serving(url, prelude=prelude))
        address = f"http://127.0.0.1:{server.port}"
        callers = [stack.enter_context(httpx.Client(base_url=address, timeout=CALL_TIMEOUT_S)) for _ in range(CALLERS)]
        yield Chaos(server, callers, seed)


def kill_again_and_again(
    url: URL,
    kills: int,
    seed: int,
    mutant: str = "",
    after_each: Callable[[int], None] = lambda kill: None,
) -> Report:
    """As many rounds as asked for; with a mutant, no more than it takes to catch it."""
    prelude = SAVING_OFTEN + (f"m.{mutant}()" if mutant else "")
    with chaos_on(url, seed, prelude) as chaos:
        for kill in range(kills):
            chaos.kill_under_load()
            after_each(kill + 1)
            if mutant and chaos.found_something():
                break
        return chaos.report()
