"""A running service in trouble, under load: what its callers see meanwhile, and what is true of its log afterwards."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx
from sqlalchemy.engine import URL

from holdfast.store.engine import parse_url
from tests.acceptance.server import Server, serving
from tests.chaos.audit import Fault, audit
from tests.chaos.faults import Trouble, endure, troubles_of_postgresql, troubles_of_sqlite
from tests.chaos.harness import CALL_TIMEOUT_S, CALLERS, LEARNERS, SAVING_OFTEN, new_learners
from tests.chaos.load import Load, call_until_told_to_stop
from tests.chaos.places import postgresql_in, small_disk

CALLS_MAX = 400  # of one caller for one fault
BEFORE_S = 0.5  # of load, and the same afterwards
REFUSED_WITHIN_S = 15.0
RECOVERED_WITHIN_S = 20.0
LOOK_EVERY_S = 0.1
PROBE_TIMEOUT_S = 1.0
DISK_MB = {"sqlite": 48, "postgresql": 160}  # room for SQLite's log, too


class Caller(httpx.Client):
    """Counts what a caller does not want to see."""

    def __init__(self, address: str) -> None:
        super().__init__(base_url=address, timeout=CALL_TIMEOUT_S)
        self.refused = self.refused_wrongly = self.unanswered = 0
        self.slowest_s = 0.0

    def post(self, *words: Any, **more: Any) -> httpx.Response:
        started = time.monotonic()
        try:
            response = super().post(*words, **more)
        except httpx.TransportError:
            self.unanswered += 1
            raise
        finally:
            self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        if response.status_code == 503:
            self.refused += 1
            self.refused_wrongly += not response.headers.get("Retry-After", "").isdigit()
        return response


class Outcome(NamedTuple):
    """What came of one fault."""

    trouble: str
    acknowledged: int
    refused: int
    refused_wrongly: int  # 503 without saying when to come again
    unanswered: int
    slowest_s: float  # any answer
    live_slowest_s: float  # of /health/live
    was_unready: bool
    recovery_s: float  # from the end of the fault to a decision asked for after it
    faults: frozenset[Fault]


class Disturbance:
    """One server that is never restarted, and the faults that can be brought upon it."""

    def __init__(self, server: Server, troubles: list[Trouble], seed: int) -> None:
        self._server, self._seed = server, seed
        self._address = f"http://127.0.0.1:{server.port}"
        self._rounds = 0
        self.troubles = {trouble.name: trouble for trouble in troubles}

    def bring(self, name: str) -> Outcome:
        """Load, the fault, recovery, more load, and an audit when every call has its answer."""
        trouble, load, told = self.troubles[name], self._new_load(), threading.Event()
        with ExitStack() as stack:
            callers = [stack.enter_context(Caller(self._address)) for _ in range(CALLERS)]
            health = stack.enter_context(watching(self._address))
            pool = stack.enter_context(ThreadPoolExecutor(CALLERS))
            calling = [
                pool.submit(call_until_told_to_stop, load, http, Random(f"{self._seed}/{i}"), CALLS_MAX, told)
                for i, http in enumerate(callers)
            ]
            try:
                time.sleep(BEFORE_S)
                endure(trouble, lambda: any(caller.refused for caller in callers), REFUSED_WITHIN_S)
                recovery_s = self._recover()
                time.sleep(BEFORE_S)
            finally:
                told.set()
            for caller in calling:
                caller.result()
        faults = [audit(self._server.http, learner, load.ledger, f"after {name}") for learner in load.learners]
        return Outcome(
            trouble=name,
            acknowledged=load.ledger.acknowledged(),
            refused=sum(caller.refused for caller in callers),
            refused_wrongly=sum(caller.refused_wrongly for caller in callers),
            unanswered=sum(caller.unanswered for caller in callers),
            slowest_s=max(caller.slowest_s for caller in callers),
            live_slowest_s=health.slowest_s,
            was_unready=health.was_unready,
            recovery_s=recovery_s,
            faults=frozenset().union(*faults),
        )

    def _new_load(self) -> Load:
        self._rounds += 1
        names = [f"trouble-{self._rounds}-{number}" for number in range(LEARNERS)]
        new_learners(self._server, [*names, self._probe()])
        return Load(self._seed, names)

    def _recover(self) -> float:
        """Seconds until a decision that is asked for after the end is made."""
        ended = time.monotonic()
        question = {"context": [0.1, 0.2], "actions": [{"id": "a", "features": [0.3]}]}
        while time.monotonic() < ended + RECOVERED_WITHIN_S:
            with suppress(httpx.TransportError):
                path = f"/v1/learners/{self._probe()}/decisions"
                if self._server.http.post(path, json=question, timeout=PROBE_TIMEOUT_S).status_code == 201:
                    return time.monotonic() - ended
            time.sleep(0.01)
        raise AssertionError("the service did not recover: " + self._server.said()[-2_000:])

    def _probe(self) -> str:
        return f"probe-{self._rounds}"


class Health:
    """What the health routes said."""

    def __init__(self) -> None:
        self.slowest_s, self.was_unready = 0.0, False

    def look(self, http: httpx.Client) -> None:
        started = time.monotonic()
        http.get("/health/live").raise_for_status()
        self.slowest_s = max(self.slowest_s, time.monotonic() - started)
        self.was_unready = self.was_unready or http.get("/health/ready").status_code == 503


@contextmanager
def watching(address: str) -> Iterator[Health]:
    """Asks the health routes until the block ends; whatever went wrong with that is raised then."""
    health, told = Health(), threading.Event()

    def look() -> None:
        with httpx.Client(base_url=address, timeout=CALL_TIMEOUT_S) as http:
            while not told.wait(LOOK_EVERY_S):
                health.look(http)

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        try:
            yield health
        finally:
            told.set()
    looking.result()


@contextmanager
def disturbing(kind: str, folder: Path, seed: int, mutant: str = "") -> Iterator[Disturbance]:
    """On a disk that can be filled, where one may be mounted."""
    prelude = SAVING_OFTEN + (f"m.{mutant}()" if mutant else "")
    with small_disk(DISK_MB[kind]) as disk:
        place = folder if disk is None else disk.folder
        if kind == "sqlite":
            with serving(_sqlite_in(place), prelude=prelude) as server:
                yield Disturbance(server, troubles_of_sqlite(server, disk), seed)
        else:
            with postgresql_in(place) as database, serving(database.url, prelude=prelude) as server:
                yield Disturbance(server, troubles_of_postgresql(database, disk), seed)


def _sqlite_in(folder: Path) -> URL:
    return parse_url(f"sqlite:///{folder}/holdfast.db")


Say = Callable[[str], None]


def disturb_again_and_again(kind: str, folder: Path, rounds: int, seed: int, mutant: str, say: Say) -> list[Outcome]:
    """Every fault as many times as asked for, on one server that is never restarted."""
    with disturbing(kind, folder, seed, mutant) as disturbance:
        outcomes = []
        for number in range(rounds):
            for name in disturbance.troubles:
                say(f"{kind}: {name}, {number + 1} of {rounds}")
                outcomes.append(disturbance.bring(name))
        return outcomes
