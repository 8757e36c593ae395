"""Sessions with a host on a real database: small states of a few candidates, told apart by their numbers."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from holdfast.arrays import Array
from holdfast.hosting.blueprint import canonical, draw_sessions
from holdfast.hosting.look import Look
from holdfast.hosting.sessions.close import Finish, Finished
from holdfast.hosting.sessions.episode import Begin, Begun
from holdfast.hosting.sessions.reward import RewardStep, StepVerdict
from holdfast.hosting.sessions.step import Step, StepAnswered, StepQuestion
from holdfast.store import learners
from holdfast.store.database import Database
from holdfast.store.log import Event, events_after
from tests.hosting.harness import Clock, Driver

LENGTH = 3
WAIT_S = 600


def spec(**changes: Any) -> dict[str, Any]:
    """A small learner of sessions; `reward` and `corruption` are merged."""
    plain: dict[str, Any] = {
        "kind": "mdp",
        "features": {"kind": "dense", "action": 3, "joint": "action"},
        "function": {"kind": "linear"},
        "reward": {"min": 0.0, "max": 1.0, "out_of_range": "reject", "default": None, "step_max": None},
        "corruption": {"budget": 5.0, "premium": None},
        "horizon": 10_000,
        "episode_length": LENGTH,
        "episode_timeout_s": WAIT_S,
        "stationary": False,
        "radius": "practical",
        "exploration_floor": 0.0,
        "seed": 0,
    }
    for name, value in changes.items():
        plain[name] = plain[name] | value if name in ("reward", "corruption") else value
    return plain


def candidates(state: int) -> Array:
    """(K, 3): what can be chosen in a state."""
    rng = np.random.default_rng(state)
    return rng.uniform(-0.5, 0.5, size=(2 + state % 3, 3))


class SessionDriver(Driver):
    """What a test says to a host about sessions."""

    def create(self, name: str = "home", **changes: Any) -> None:
        with self.database.write() as connection:
            learners.create(connection, name, canonical(spec(**changes)), self.clock())

    def question(
        self, episode: str, state: int = 0, reward: float | None = None, step: int | None = None
    ) -> StepQuestion:
        phi = candidates(state)
        content = hashlib.sha256(phi.tobytes() + repr(reward).encode()).digest()[:16]
        ids = [f"a{i}" for i in range(len(phi))]
        return StepQuestion(episode, ids, phi, reward, None, step, content)

    def begin(self, episode: str) -> Begun:
        begun: Begun = self.host.submit(Begin("home", episode, True)).result(10)
        return begun

    def step(self, episode: str, state: int = 0, reward: float | None = None, step: int | None = None) -> StepAnswered:
        made: StepAnswered = self.host.submit(Step("home", self.question(episode, state, reward, step))).result(10)
        return made

    def tell(self, episode: str, step: int, value: float) -> StepVerdict:
        verdict: StepVerdict = self.host.submit(RewardStep("home", episode, step, value, None)).result(10)
        return verdict

    def finish(self, episode: str, following: Array | None = None) -> Finished:
        finished: Finished = self.host.submit(Finish("home", episode, following)).result(10)
        return finished

    def play(self, number: int, length: int = LENGTH) -> None:
        """A whole episode, whose states and rewards follow from its number and from what is chosen."""
        episode, rng = f"play-{number}", np.random.default_rng(number)
        self.begin(episode)
        state = int(rng.integers(4))
        for step in range(1, length + 1):
            chosen = self.step(episode, state).decision.chosen
            self.tell(episode, step, float(rng.integers(2)) * (chosen + 1) / (4 * length))
            state = int(rng.integers(4))
        self.finish(episode, candidates(state))

    def quiet(self) -> tuple[int, bytes, Any]:
        """The learner once nothing is due any more."""
        wait_until(lambda: not _is_due(self))
        return self.peek()

    def log(self, *kinds: str) -> list[Event]:
        events: list[Event] = []
        with self.database.read() as connection:
            while more := events_after(connection, 1, events[-1].position if events else 0):
                events += more
        return [event for event in events if not kinds or event.kind in kinds]


def _is_due(driver: SessionDriver) -> bool:
    plans = driver.host.submit(Look("home")).result(10).numbers["plans"]
    return bool(plans["is_due"] or plans["is_outgrown"])


def wait_until(holds: Callable[[], bool], within_s: float = 30.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


@contextmanager
def playing(database: Database, clock: Clock) -> Iterator[SessionDriver]:
    driver = SessionDriver(database, clock)
    try:
        yield driver
    finally:
        driver.stop()


def learner_of(**changes: Any) -> Any:
    return draw_sessions(spec(**changes)).mdp
