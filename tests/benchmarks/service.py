"""The service's speed as a ratio to a route that does nothing, in one run, interleaved."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx
import numpy as np

from tests.acceptance.server import Server, free_port, serving
from tests.benchmarks.load import Measured, request_bytes, run
from tests.benchmarks.tables import table, verdict
from tests.databases import fresh_url


class Setting(NamedTuple):
    requests: int = 3_000  # in one block
    blocks: int = 5
    connections: int = 64


LEARNER = {"name": "bench", "kind": "bandit", "features": {"kind": "dense", "context": 20, "action": 8}}
LEARNER |= {"corruption": {"budget": 20.0}, "horizon": 1_000_000}


def _bodies(count: int = 50) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    return [
        {
            "context": rng.uniform(-0.2, 0.2, 20).tolist(),
            "actions": [{"id": f"item-{i}", "features": rng.uniform(-0.2, 0.2, 8).tolist()} for i in range(10)],
        }
        for _ in range(count)
    ]


class Noop:
    """The do-nothing server in a process of its own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.noop", str(self.port)])
        for _ in range(200):
            try:
                httpx.get(f"http://127.0.0.1:{self.port}/health/ready")
                return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the no-op server did not start")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)


class Rewarder:
    """Rewards for decisions that were made before, each once."""

    def __init__(self, server: Server) -> None:
        self.server, self.number = server, 0

    def prepare(self, count: int) -> Iterator[bytes]:
        body, names = _bodies(1)[0], [f"r{self.number + i}" for i in range(count)]
        self.number += count
        for start in range(0, count, 500):
            batch = {"decisions": [body | {"decision_id": name} for name in names[start : start + 500]]}
            assert self.server.post("/v1/learners/bench/decisions/batch", batch).status_code == 201
        claims = ({"decision_id": name, "value": 0.5} for name in names)
        return (request_bytes("/v1/learners/bench/rewards", json.dumps(claim).encode()) for claim in claims)


def report(setting: Setting) -> Iterator[str]:
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        noop = Noop()
        stack.callback(noop.close)
        servers = {
            kind: stack.enter_context(serving(fresh_url(kind, Path(folder)))) for kind in ("sqlite", "postgresql")
        }
        for server in servers.values():
            assert server.post("/v1/learners", LEARNER).status_code == 201
        yield (
            f"One server process each, {setting.connections} connections, 20 context floats and 10 actions × 8 floats; "
            f"{setting.blocks} interleaved blocks of {setting.requests:,} requests, medians.\n"
        )
        yield from _table(setting, noop, servers)


def _table(setting: Setting, noop: Noop, servers: dict[str, Server]) -> Iterator[str]:
    bodies = [json.dumps(body).encode() for body in _bodies()]
    rewarders = {kind: Rewarder(server) for kind, server in servers.items()}
    noop_reward = json.dumps({"decision_id": "r1", "value": 0.5}).encode()
    batch = json.dumps({"decisions": _bodies(64)}).encode()

    def decisions(path: str) -> Callable[[], Iterator[bytes]]:
        return lambda: cycle([request_bytes(path, body) for body in bodies])

    calls: dict[str, tuple[int, Callable[[], Iterator[bytes]], int]] = {
        "no-op decide": (noop.port, decisions("/decide"), setting.requests),
        "no-op reward": (noop.port, lambda: cycle([request_bytes("/reward", noop_reward)]), setting.requests),
    }
    for kind, server in servers.items():
        path = "/v1/learners/bench/decisions"
        calls[f"{kind} decide"] = (server.port, decisions(path), setting.requests)
        calls[f"{kind} reward"] = (server.port, lambda k=kind: rewarders[k].prepare(setting.requests), setting.requests)
        many = max(8, setting.requests // 64)
        calls[f"{kind} decide ×64"] = (server.port, lambda p=path: cycle([request_bytes(p + "/batch", batch)]), many)
    results: dict[str, list[Measured]] = {name: [] for name in calls}
    for _ in range(setting.blocks):
        for name, (port, requests, count) in calls.items():
            results[name].append(run(port, requests(), count, setting.connections if "×64" not in name else 4))
    rates = {name: median(m.rate for m in measured) for name, measured in results.items()}
    yield from _rows(rates, results)


def _rows(rates: dict[str, float], results: dict[str, list[Measured]]) -> Iterator[str]:
    rows: list[list[object]] = []
    for name, rate in rates.items():
        ceiling = rates["no-op reward" if "reward" in name else "no-op decide"]
        per = 64 if "×64" in name else 1
        p50, p99 = (median(getattr(m, q) for m in results[name]) for q in ("p50", "p99"))
        errors = sum(m.errors for m in results[name])
        rows.append(
            [name, f"{rate * per:,.0f}", f"×{rate * per / ceiling:.2f}", f"{p50:.1f}", f"{p99:.1f}", str(errors)]
        )
    yield table(["call", "per second", "against no-op", "p50 ms", "p99 ms", "errors"], rows)
    for kind, least in (("sqlite", 1.0), ("postgresql", 0.9)):
        ratio = rates[f"{kind} decide"] / rates["no-op decide"]
        yield f"\n{kind}: durable decide ×{ratio:.2f} of the no-op {verdict(f'≥ {least}', ratio >= least)}"
        reward = rates[f"{kind} reward"] / rates["no-op reward"]
        yield f"{kind}: reward ×{reward:.2f} of the no-op {verdict('≥ 1.0', reward >= 1.0)}"
        gain = rates[f"{kind} decide ×64"] * 64 / rates[f"{kind} decide"]
        yield f"{kind}: batches of 64 make ×{gain:.1f} the decisions of single calls {verdict('≥ 5', gain >= 5.0)}"
