"""A host on a real database, driven as the API drives it, with a clock that the test owns."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from holdfast.features import Candidate
from holdfast.hosting.blueprint import canonical, draw
from holdfast.hosting.decide import NEVER_ASKED, Answered, Decide, Questions
from holdfast.hosting.host import Host
from holdfast.hosting.learn import Claim, Reward, Verdict
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import OneByOne
from holdfast.learners import codec
from holdfast.store import learners
from holdfast.store.database import Database
from holdfast.store.log import Transaction

SECOND = 1_000_000
WITHIN_S = 10.0


def spec(**changes: Any) -> dict[str, Any]:
    """A small learner; `reward` and `corruption` are merged."""
    plain: dict[str, Any] = {
        "features": {"kind": "dense", "action": 3, "joint": "action"},
        "function": {"kind": "linear"},
        "reward": {
            "min": 0.0,
            "max": 1.0,
            "out_of_range": "reject",
            "wait_s": 600,
            "default": 0.0,
            "aggregation": "first",
        },
        "corruption": {"budget": 5.0, "premium": 0.01},
        "horizon": 10_000,
        "confidence": 0.05,
        "noise": "auto",
        "radius": "practical",
        "exploration_floor": 0.0,
        "seed": 0,
    }
    for name, value in changes.items():
        plain[name] = (
            {**plain[name], **value} if isinstance(value, dict) and name in ("reward", "corruption") else value
        )
    return plain


def comes_true(condition: Callable[[], bool]) -> bool:
    """What another thread does, once it has done it."""
    deadline = time.monotonic() + WITHIN_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


class Clock:
    def __init__(self) -> None:
        self.now = 1_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)


class Peek(OneByOne):
    """Reads a live learner where the writer has it."""

    def __init__(self, learner: str) -> None:
        self.learner = learner

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> tuple[int, bytes, Any]:
        return live.position, codec.encode(live.state), live.tally.copy()


class Driver:
    """What a test says to a host."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database, self.clock = database, clock
        self.warnings: list[str] = []
        self.host = Host(database, lambda event, **facts: self.warnings.append(f"{event} {facts}"), clock)
        self.host.start()

    def create(self, name: str = "home", **changes: Any) -> None:
        with self.database.write() as connection:
            learners.create(connection, name, canonical(spec(**changes)), self.clock())

    def recreate(self, name: str = "home", **changes: Any) -> None:
        """Another learner under the same name."""
        with self.database.write() as connection:
            row = learners.find(connection, name)
            assert row is not None
            learners.remove(connection, row.id)
        self.create(name, **changes)

    def change(self, name: str = "home", **values: Any) -> None:
        """As an admin does."""
        with self.database.write() as connection:
            row = learners.find(connection, name)
            assert row is not None
            learners.change(connection, row.id, **values)

    def ask(self, decision_id: str, seed: int = 0, top: int = 1, given: bool = True) -> Questions:
        rows = np.random.default_rng(seed).uniform(0.1, 0.5, size=(4, 3))
        encoder = draw(spec()).encoder
        phi = encoder.encode(None, [Candidate(f"a{i}", row.tolist()) for i, row in enumerate(rows)])
        digest = hashlib.sha256(phi.tobytes()).digest() if given else NEVER_ASKED
        return Questions([decision_id], [[f"a{i}" for i in range(4)]], phi, [top], [digest])

    def decide(self, decision_id: str, seed: int = 0, top: int = 1, learner: str = "home") -> Answered:
        answer: list[Answered] = self.host.submit(Decide(learner, self.ask(decision_id, seed, top))).result(10)
        return answer[0]

    def reward(self, decision_id: str, value: float, action: str | None = None, learner: str = "home") -> Verdict:
        verdict = self.host.submit(Reward(learner, [Claim(decision_id, value, action, None)])).result(10)[0]
        if isinstance(verdict, Exception):
            raise verdict
        assert isinstance(verdict, Verdict)
        return verdict

    def peek(self, learner: str = "home") -> tuple[int, bytes, Any]:
        found: tuple[int, bytes, Any] = self.host.submit(Peek(learner)).result(10)
        return found

    def stop(self) -> None:
        self.host.stop(10)


@contextmanager
def driving(database: Database, clock: Clock) -> Iterator[Driver]:
    driver = Driver(database, clock)
    try:
        yield driver
    finally:
        driver.stop()
