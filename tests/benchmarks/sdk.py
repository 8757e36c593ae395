"""What the SDK costs: decide_many of 64 beside a bare httpx call that sends the same bytes, in one run, interleaved."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx
import numpy as np

from holdfast_client import Client, wire
from holdfast_client.bodies import questions
from tests.acceptance.server import serving
from tests.benchmarks.service import LEARNER
from tests.benchmarks.tables import table, verdict
from tests.databases import fresh_url

BATCH = 64
LEAST = 0.8


class Setting(NamedTuple):
    blocks: int = 41
    calls: int = 5  # in one block


def report(setting: Setting) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder, serving(fresh_url("sqlite", Path(folder))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        url = str(server.http.base_url)
        with Client(url, decision_timeout=30) as client, httpx.Client(base_url=url, timeout=30) as http:
            rates = measure(setting, client, http)
    yield (
        f"One caller, SQLite, {BATCH} decisions a call with 20 context floats and 10 actions × 8 floats; "
        f"{setting.blocks} interleaved blocks of {setting.calls} calls, medians. All send the same bytes. `httpx` is "
        "`post(json=…).json()`; `httpx, bytes` is given what was encoded before and does not read the answer: the "
        "difference is what JSON itself costs.\n"
    )
    bare = rates["httpx"]
    rows = [[name, f"{rate:,.0f}", f"×{rate / bare:.2f}"] for name, rate in rates.items()]
    yield table(["call", "decisions per second", "against httpx"], rows)
    share = rates["SDK"] / bare
    yield f"\ndecide_many of {BATCH}: ×{share:.2f} of a bare httpx call {verdict(f'≥ {LEAST}', share >= LEAST)}"


def ask(count: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        {
            "context": rng.uniform(-0.2, 0.2, 20).tolist(),
            "actions": [{"id": f"item-{i}", "features": rng.uniform(-0.2, 0.2, 8).tolist()} for i in range(10)],
        }
        for _ in range(count)
    ]


def measure(setting: Setting, client: Client, http: httpx.Client) -> dict[str, float]:
    """Decisions per second of each way."""
    asked = ask(BATCH)
    path, head = wire.decide_many("bench", []).path, dict(wire.JSON)

    def send_bytes(call: "wire.Call[Any]") -> None:
        assert http.post(path, content=call.content, headers=head).status_code == 201

    def send_json(named: list[dict[str, Any]]) -> None:
        assert len(http.post(path, json={"decisions": named}).json()["decisions"]) == BATCH

    def send_sdk(nothing: None) -> None:
        assert len(client.decide_many("bench", asked)) == BATCH

    ways: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
        "httpx, bytes": (lambda: wire.decide_many("bench", questions(asked)), send_bytes),
        "httpx": (lambda: questions(asked), send_json),
        "SDK": (lambda: None, send_sdk),
    }
    times_s: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(setting.blocks):
        for name, (prepare, send) in ways.items():
            prepared = [prepare() for _ in range(setting.calls)]
            started = time.perf_counter()
            for one in prepared:
                send(one)
            times_s[name].append((time.perf_counter() - started) / setting.calls)
    return {name: BATCH / median(measured) for name, measured in times_s.items()}
