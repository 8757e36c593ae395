"""The service's speed as a ratio to a route that does nothing, in one run, interleaved."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx
import numpy as np
from sqlalchemy import text

from holdfast.store.engine import connect, parse_url
from tests.acceptance.server import Server, free_port, serving
from tests.benchmarks.load import Measured, request_bytes, run
from tests.benchmarks.tables import table, verdict
from tests.benchmarks.timing import pauses_ms
from tests.databases import fresh_url, postgresql_server


class Setting(NamedTuple):
    requests: int = 2_000  # in one block
    rounds: int = 21  # of a block of everything
    connections: int = 64


BATCH = 64
BATCHES_AT_ONCE = 16  # connections: enough that something can be read while the database has something to do
SHARED = ", actions said once"
AT_HALF_LOAD = ("no-op decide", "sqlite decide", "postgresql decide")
WAL_FILES = 48  # 16 MB each
WATCHED_S = 3.0
LEARNER = {"name": "bench", "kind": "bandit", "features": {"kind": "dense", "context": 20, "action": 8}}
LEARNER |= {"corruption": {"budget": 20.0}, "horizon": 1_000_000}


def bodies(count: int = 50) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "context": rng.uniform(-0.2, 0.2, 20).tolist(),
            "actions": [{"id": f"item-{i}", "features": rng.uniform(-0.2, 0.2, 8).tolist()} for i in range(10)],
        }
        for _ in range(count)
    ]


class Taken(NamedTuple):
    """One block: what the callers saw, and the server's CPU time for each call in µs."""

    seen: Measured
    cpu: float


class Call(NamedTuple):
    """One row of the table."""

    server: "Noop | Server"
    requests: Callable[[], Iterator[bytes]]
    count: int
    connections: int
    per_call: int = 1  # decisions

    def take(self, rate: float | None = None) -> Taken:
        """One block, as fast as it goes or at a rate."""
        requests = self.requests()  # which may have to prepare something on the server
        before = _cpu_s(self.server.process.pid)
        seen = run(self.server.port, requests, self.count, self.connections, rate)
        return Taken(seen, (_cpu_s(self.server.process.pid) - before) / self.count * 1e6)


def _cpu_s(pid: int) -> float:
    """The time a process has used, user and system (proc(5): fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Noop:
    """The do-nothing server, or another one that answers as it does, in a process of its own."""

    def __init__(self, module: str = "tests.benchmarks.noop") -> None:
        self.port = free_port()
        self.process = subprocess.Popen([sys.executable, "-m", module, str(self.port)])
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
        body, names = bodies(1)[0], [f"r{self.number + i}" for i in range(count)]
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
        make_wal_files()
        yield (
            f"One server process each, {setting.connections} connections, 20 context floats and 10 actions × 8 floats; "
            f"{setting.rounds} rounds of a block of {setting.requests:,} requests for each row (batches of {BATCH}: "
            f"{BATCHES_AT_ONCE} connections), medians; a ratio is the median of the rounds' own, since this machine is "
            "not equally fast all the time. PostgreSQL has files for its log in store (min_wal_size), as one that has "
            "run for a while; its other settings are as they come.\n"
        )
        yield from _table(setting, noop, servers)


def make_wal_files() -> None:
    """A new PostgreSQL makes each file of its log when it comes to it, and everybody waits for 16 MB of zeros; later it
    uses old ones again.
    """
    engine = connect(parse_url(postgresql_server().render_as_string(hide_password=False))).execution_options(
        isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text("ALTER SYSTEM SET min_wal_size = '1GB'"))
        connection.execute(text("SELECT pg_reload_conf()"))
        for _ in range(WAL_FILES):
            connection.execute(text("SELECT pg_logical_emit_message(false, '', '')"))
            connection.execute(text("SELECT pg_switch_wal()"))
        connection.execute(text("CHECKPOINT"))
    engine.dispose()


def _table(setting: Setting, noop: Noop, servers: dict[str, Server]) -> Iterator[str]:
    calls = _calls(setting, noop, servers)
    full: dict[str, list[Taken]] = {name: [] for name in calls}
    half: dict[str, list[Measured]] = {name: [] for name in AT_HALF_LOAD}
    halves: list[float] = []
    for _ in range(setting.rounds):
        for name, call in calls.items():
            full[name].append(call.take())
        os.sync()  # what was written is on the disk: nobody's commits should wait for that
        halves.append(min(full[name][-1].seen.rate for name in AT_HALF_LOAD) / 2)
        for name in AT_HALF_LOAD:
            half[name].append(calls[name].take(halves[-1]).seen)
    yield from _rows(full, calls)
    yield from _half_load(half, halves)


def _calls(setting: Setting, noop: Noop, servers: dict[str, Server]) -> dict[str, Call]:
    """In this order, so that what is compared is measured at about the same time."""
    single = [json.dumps(body).encode() for body in bodies()]
    many: list[dict[str, Any]] = bodies(BATCH)
    batches = {"": {"decisions": many}}
    batches[SHARED] = {"actions": many[0]["actions"], "decisions": [{"context": one["context"]} for one in many]}
    reward = json.dumps({"decision_id": "r1", "value": 0.5}).encode()
    path, count, connections = "/v1/learners/bench/decisions", setting.requests, setting.connections
    calls = {"no-op reward": Call(noop, lambda: cycle([request_bytes("/reward", reward)]), count, connections)}
    for kind, server in servers.items():
        rewarder = Rewarder(server)
        calls[f"{kind} reward"] = Call(server, lambda r=rewarder: r.prepare(count), count, connections)
    calls["no-op decide"] = Call(noop, lambda: cycle([request_bytes("/decide", b) for b in single]), count, connections)
    for kind, server in servers.items():
        calls[f"{kind} decide"] = Call(
            server, lambda: cycle([request_bytes(path, b) for b in single]), count, connections
        )
        for how, batch in batches.items():
            request = request_bytes(path + "/batch", json.dumps(batch).encode())
            calls[f"{kind} decide ×{BATCH}{how}"] = Call(
                server, lambda r=request: cycle([r]), max(8, count // BATCH * 4), BATCHES_AT_ONCE, BATCH
            )
    return calls


def _rows(results: dict[str, list[Taken]], calls: dict[str, Call]) -> Iterator[str]:
    rows: list[list[object]] = []
    ratio = partial(_ratio, results, calls)
    for name, taken in results.items():
        rate = median(one.seen.rate for one in taken) * calls[name].per_call
        against = ratio(name, "no-op reward" if "reward" in name else "no-op decide")
        p50, p99 = (median(getattr(one.seen, q) for one in taken) for q in ("p50", "p99"))
        cpu = median(one.cpu for one in taken) / calls[name].per_call
        errors = sum(one.seen.errors for one in taken)
        rows.append([name, f"{rate:,.0f}", f"×{against:.2f}", f"{cpu:.0f}", f"{p50:.1f}", f"{p99:.1f}", str(errors)])
    yield table(["call", "per second", "against no-op", "CPU µs each", "p50 ms", "p99 ms", "errors"], rows)
    for kind, least in (("sqlite", 1.0), ("postgresql", 0.9)):
        decide = ratio(f"{kind} decide", "no-op decide")
        yield f"\n{kind}: durable decide ×{decide:.2f} of the no-op {verdict(f'≥ {least}', decide >= least)}"
        reward = ratio(f"{kind} reward", "no-op reward")
        yield f"{kind}: reward ×{reward:.2f} of the no-op {verdict('≥ 1.0', reward >= 1.0)}"
        for how in ("", SHARED):
            gain = ratio(f"{kind} decide ×{BATCH}{how}", f"{kind} decide")
            told = f"{kind}: batches of {BATCH}{how} make ×{gain:.1f} the decisions of single calls"
            yield f"{told} {verdict('≥ 5', gain >= 5.0)}"


def _ratio(results: dict[str, list[Taken]], calls: dict[str, Call], name: str, base: str) -> float:
    """Decisions or rewards per second of one call to those of another, block by block."""
    pairs = zip(results[name], results[base], strict=True)
    return median(ours.seen.rate / theirs.seen.rate for ours, theirs in pairs) * (
        calls[name].per_call / calls[base].per_call
    )


def _half_load(taken: dict[str, list[Measured]], rates: list[float]) -> Iterator[str]:
    """Latency at the same rate for all, counted from when a call was due."""
    p50, p99 = ({n: median(getattr(m, q) for m in taken[n]) for n in taken} for q in ("p50", "p99"))
    noop = taken[AT_HALF_LOAD[0]]
    ratio = {n: median(ours.p99 / theirs.p99 for ours, theirs in zip(taken[n], noop, strict=True)) for n in taken}
    rows: list[list[object]] = [[n, f"{p50[n]:.2f}", f"{p99[n]:.2f}", f"×{ratio[n]:.2f}"] for n in taken]
    pauses = pauses_ms(WATCHED_S)
    yield (
        f"\nAt {min(rates):,.0f} to {max(rates):,.0f} calls per second: in each round half of what the slowest of the "
        f"three could do in it. While nobody calls, this machine kept a process that only reads the clock waiting for "
        f"more than 1 ms {len(pauses)} times in {WATCHED_S:g} s, at most {max(pauses, default=0.0):.1f} ms (one such "
        "process on each core):\n"
    )
    yield table(["call", "p50 ms", "p99 ms", "p99 against no-op"], rows)
    worst = max(ratio.values())
    yield f"\np99 at half load at most ×{worst:.2f} the no-op's {verdict('≤ 3', worst <= 3.0)}"
