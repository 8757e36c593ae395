"""A long life: whether memory stays where it is over a million decisions, and how long coming back takes."""

import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import delete, func, select

from holdfast.app import TURN_S
from holdfast.hosting.blueprint import canonical
from holdfast.hosting.decide import NEVER_ASKED, Answers, Decide, Questions
from holdfast.hosting.host import Host
from holdfast.hosting.learn import Claim, Reward
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.recover import revive
from holdfast.learners import codec
from holdfast.store import learners
from holdfast.store.database import Database
from holdfast.store.tables import snapshots, waiting
from tests.benchmarks.tables import table, verdict
from tests.databases import fresh_url, migrated
from tests.hosting.harness import spec

BATCH = 64
IN_FLIGHT = 16  # batches
DIMENSION = 20
ACTIONS = 10
WAIT_S = 2.0
GROWTH_MAX_MB = 1.0
RECOVERY_MAX_S = 5.0
NAME = "old"


class Setting(NamedTuple):
    decisions: int = 1_000_000
    warm_up: int = 200_000
    step: int = 100_000  # between two looks at the memory


class Look(NamedTuple):
    """What was seen after so many decisions."""

    decisions: int
    seconds: float
    resident_mb: float
    open_decisions: int


class Caller:
    """Asks for decisions in batches and rewards every other one, a few batches at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._rng = np.random.default_rng(0)
        self._asked: deque[Future[Any]] = deque()
        self._told: deque[Future[Any]] = deque()
        self.made = 0

    def go_on_until(self, decisions: int) -> None:
        while self.made < decisions:
            self._asked.append(self._host.submit(Decide(NAME, self._questions())))
            self.made += BATCH
            self._follow(IN_FLIGHT)
        self._follow(0)

    def _follow(self, in_flight: int) -> None:
        """Reward what was decided, and leave no more than this unanswered."""
        while len(self._asked) > in_flight:
            self._told.append(self._host.submit(Reward(NAME, self._claims(self._asked.popleft().result()))))
        while len(self._told) > in_flight:
            self._told.popleft().result()

    def _questions(self) -> Questions:
        phi = self._rng.normal(size=(BATCH * ACTIONS, DIMENSION))
        phi /= np.linalg.norm(phi, axis=1, keepdims=True)
        names = [f"{self.made + place:032d}" for place in range(BATCH)]
        ids = [[f"item-{i}" for i in range(ACTIONS)] for _ in names]
        return Questions(names, ids, phi, [1] * BATCH, [NEVER_ASKED] * BATCH)

    def _claims(self, made: Answers) -> list[Claim]:
        rewarded = list(made)[::2]
        values = self._rng.random(len(rewarded)).tolist()
        return [
            Claim(answer.decision_id, value, None, "caller") for answer, value in zip(rewarded, values, strict=True)
        ]


def report(setting: Setting) -> Iterator[str]:
    sys.setswitchinterval(TURN_S)  # as the service does: the sweep is a thread beside a busy one
    with tempfile.TemporaryDirectory(prefix="holdfast-endurance-") as folder:
        for database in migrated(fresh_url("sqlite", Path(folder))):
            _create(database)
            host = Host(database, lambda event, **facts: None)
            host.start()
            looks = [*_live_long(database, Caller(host), setting)]
            yield from _memory(setting, looks)
            _wait_for_the_last(database)
            yield from _recovery(database)
            host.stop(60)


def _create(database: Database) -> None:
    features = {"kind": "dense", "action": DIMENSION, "joint": "action"}
    with database.write() as connection:
        described = spec(features=features, reward={"wait_s": WAIT_S}, horizon=1_000_000)
        learners.create(connection, NAME, canonical(described), 0)


def _live_long(database: Database, caller: Caller, setting: Setting) -> Iterator[Look]:
    started = time.perf_counter()
    for decisions in range(setting.step, setting.decisions + 1, setting.step):
        caller.go_on_until(decisions)
        with database.read() as connection:
            open_decisions = connection.execute(select(func.count()).select_from(waiting)).scalar_one()
        yield Look(caller.made, time.perf_counter() - started, _resident_mb(), open_decisions)


def _resident_mb() -> float:
    """Linux only, as is the limit."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _memory(setting: Setting, looks: list[Look]) -> Iterator[str]:
    yield (
        f"{looks[-1].decisions:,} decisions between {ACTIONS} actions, {DIMENSION} features, by one host on SQLite, "
        f"in batches of {BATCH}; every other one rewarded, the others given up after {WAIT_S:g} s.\n"
    )
    rows = [[f"{x.decisions:,}", f"{x.seconds:.0f}", f"{x.resident_mb:.1f}", f"{x.open_decisions:,}"] for x in looks]
    yield table(["decisions", "seconds", "resident (MB)", "open decisions"], rows)
    warm = [look for look in looks if look.decisions >= setting.warm_up] or looks
    grown = (warm[-1].resident_mb - warm[0].resident_mb) / max(1, len(warm) - 1) * 100_000 / setting.step
    limit = verdict(f"< {GROWTH_MAX_MB:g} MB", grown < GROWTH_MAX_MB)
    yield f"\nGrowth after the first {setting.warm_up:,}: {grown:.2f} MB per 100,000 decisions {limit}"


def _wait_for_the_last(database: Database) -> None:
    """Until every wait has ended."""
    while True:
        with database.read() as connection:
            if connection.execute(select(func.count()).select_from(waiting)).scalar_one() == 0:
                return
        time.sleep(0.2)


def _recovery(database: Database) -> Iterator[str]:
    skipped, fast = _revived(database, snapshots_skipped=1)
    with database.write() as connection:
        connection.execute(delete(snapshots))
    replayed, slow = _revived(database)
    learned = replayed.tally.learned + replayed.tally.defaulted
    tail = replayed.position - skipped.snapshot_position
    same = codec.encode(skipped.state) == codec.encode(replayed.state) and skipped.tally == replayed.tally
    yield f"\nA log of {replayed.position:,} events with {learned:,} rewards learned, half of them the default:\n"
    in_time = verdict(f"< {RECOVERY_MAX_S:g} s", fast < RECOVERY_MAX_S)
    yield f"- from a snapshot and {tail:,} events: {fast:.2f} s {in_time}"
    yield f"- from the log alone: {slow:.1f} s"
    yield f"- both come to the same bytes {verdict('the same', same)}"


def _revived(database: Database, snapshots_skipped: int = 0) -> tuple[LiveLearner, float]:
    """The learner, and the seconds it took; without the newest snapshots the tail is longer than it ever is."""
    with database.write() as connection:
        newest = select(snapshots.c.position).order_by(snapshots.c.position.desc()).limit(snapshots_skipped)
        for position in connection.execute(newest).scalars().all():
            connection.execute(delete(snapshots).where(snapshots.c.position == position))
    with database.read() as connection:
        row = learners.find(connection, NAME)
        assert row is not None
        started = time.perf_counter()
        live = revive(connection, row, lambda event, **facts: None)
        return live, time.perf_counter() - started
