"""kill -9 while large batches are written: what was acknowledged is there once, and the state is the log's."""

import threading
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import pytest
from sqlalchemy.engine import URL

from tests.acceptance.folding import fold_log, read_log
from tests.acceptance.server import Server, serving

KILLS, CALLERS, BATCH = 2, 4, 200  # each batch alone is a large transaction
LEARNER = {"name": "home", "kind": "bandit", "features": {"kind": "dense", "context": 2, "action": 1}}
ACTIONS = [{"id": f"a{i}", "features": [i / 5]} for i in range(4)]


class Caller(threading.Thread):
    """Asks again until it is answered, then rewards every other decision."""

    def __init__(self, port: int, number: int, is_over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}/v1/learners/home", timeout=10)
        self.number, self.is_over = number, is_over
        self.decided: dict[str, int] = {}
        self.learned: dict[str, int] = {}

    def run(self) -> None:
        with self.http:
            self._call()

    def _call(self) -> None:
        rng = Random(self.number)
        for batch in range(10**6):
            names = [f"{self.number}/{batch}/{i}" for i in range(BATCH)]
            asked = [{"decision_id": name, "context": [rng.random(), 0.2]} for name in names]
            made = self._until_answered("decisions", {"actions": ACTIONS, "decisions": asked})
            self.decided |= {one["decision_id"]: one["position"] for one in made}
            claims = [{"decision_id": name, "value": rng.random()} for name in names[::2]]
            told = self._until_answered("rewards", {"rewards": claims})
            self.learned |= {one["decision_id"]: one["position"] for one in told if one.get("outcome") == "learned"}
            if self.is_over.is_set():
                return

    def _until_answered(self, what: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        while not self.is_over.is_set():
            try:
                answer = self.http.post(f"/{what}/batch", json=body)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if answer.is_success:
                items: list[dict[str, Any]] = answer.json()[what]
                return items
            assert answer.status_code == 503, answer.text
        return []


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    with serving(url) as server:
        assert server.post("/v1/learners", LEARNER | {"corruption": {"budget": 5.0}}).status_code == 201
        yield server


def test_large_batches_outlive_kill_9(server: Server) -> None:
    is_over, rng = threading.Event(), Random(0)
    callers = [Caller(server.port, number, is_over) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    for _ in range(KILLS):
        time.sleep(rng.uniform(0.3, 0.9))
        server.kill()
        server.start()
    time.sleep(0.5)
    is_over.set()
    for caller in callers:
        caller.join(20)
    log = read_log(server.http, "home")
    assert [event["position"] for event in log] == list(range(1, len(log) + 1))
    for kind, said in (("decision", "decided"), ("reward", "learned")):
        kept = {event["decision_id"]: event["position"] for event in log if event["kind"] == kind}
        assert len(kept) == sum(event["kind"] == kind for event in log)
        told = {name: position for caller in callers for name, position in getattr(caller, said).items()}
        assert told
        assert told.items() <= kept.items()
    assert fold_log(server.http, "home") == server.http.get("/v1/learners/home/state").content
