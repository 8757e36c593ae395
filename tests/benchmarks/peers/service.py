"""As a service: durable decisions and rewards beside the no-op, and beside Vowpal Wabbit in the no-op's shell."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from statistics import median

from tests.acceptance.server import serving
from tests.benchmarks.load import request_bytes, run
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.service import LEARNER, Call, Noop, Rewarder, Setting, Taken, bodies
from tests.benchmarks.tables import table
from tests.databases import fresh_url

WABBIT = "Vowpal Wabbit"


class Remembered:
    """Rewards for decisions that Vowpal Wabbit has made before and remembers, each once."""

    def __init__(self, shell: Noop) -> None:
        self.shell, self.number = shell, 0

    def prepare(self, count: int) -> Iterator[bytes]:
        body, names = bodies(1)[0], [f"r{self.number + i}" for i in range(count)]
        self.number += count
        asked = (request_bytes("/decide", json.dumps(body | {"decision_id": name}).encode()) for name in names)
        assert run(self.shell.port, asked, count, 8).errors == 0
        claims = ({"decision_id": name, "value": 0.5} for name in names)
        return (request_bytes("/reward", json.dumps(claim).encode()) for claim in claims)


def told(setting: Setting) -> str:
    """What the table is of."""
    return (
        f"One server process each, {setting.connections} connections, 20 context floats and 10 actions × 8 floats; "
        f"{setting.rounds} interleaved blocks of {setting.requests:,} requests, medians. Holdfast answers when "
        f"it is on the disk; {WABBIT} sits in the no-op's FastAPI shell and forgets everything when it stops. CPU is "
        "that of the server process: what PostgreSQL's own processes use is not in it."
    )


def report(setting: Setting) -> Iterator[str]:
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        noop = stack.enter_context(started("tests.benchmarks.noop"))
        calls = _plain_calls(setting, "no-op", noop)
        if WABBIT in roster().entries:
            shell = stack.enter_context(started("tests.benchmarks.peers.shell"))
            remembered = Remembered(shell)
            calls |= _plain_calls(setting, WABBIT, shell)
            calls[f"{WABBIT} reward"] = Call(
                shell, lambda: remembered.prepare(setting.requests), setting.requests, setting.connections
            )
        for kind in ("sqlite", "postgresql"):
            server = stack.enter_context(serving(fresh_url(kind, Path(folder))))
            assert server.post("/v1/learners", LEARNER).status_code == 201
            calls |= _durable_calls(setting, kind, Rewarder(server))
        yield f"{told(setting)}\n"
        yield from _table(setting, calls)


@contextmanager
def started(module: str) -> Iterator[Noop]:
    server = Noop(module)
    try:
        yield server
    finally:
        server.close()


def _plain_calls(setting: Setting, name: str, server: Noop) -> dict[str, Call]:
    asked = [request_bytes("/decide", json.dumps(body).encode()) for body in bodies()]
    reward = request_bytes("/reward", json.dumps({"decision_id": "r1", "value": 0.5}).encode())
    return {
        f"{name} decide": Call(server, lambda: cycle(asked), setting.requests, setting.connections),
        f"{name} reward": Call(server, lambda: cycle([reward]), setting.requests, setting.connections),
    }


def _durable_calls(setting: Setting, kind: str, rewarder: Rewarder) -> dict[str, Call]:
    asked = [request_bytes("/v1/learners/bench/decisions", json.dumps(body).encode()) for body in bodies()]
    server, count = rewarder.server, setting.requests
    return {
        f"Holdfast on {kind} decide": Call(server, lambda: cycle(asked), count, setting.connections),
        f"Holdfast on {kind} reward": Call(server, lambda: rewarder.prepare(count), count, setting.connections),
    }


def _table(setting: Setting, calls: dict[str, Call]) -> Iterator[str]:
    results: dict[str, list[Taken]] = {name: [] for name in calls}
    for _ in range(setting.rounds):
        for name, call in calls.items():
            results[name].append(call.take())
    rates = {name: median(t.seen.rate for t in taken) for name, taken in results.items()}
    rows: list[list[object]] = []
    for name, taken in results.items():
        ceiling = rates[f"no-op {name.rsplit(' ', 1)[1]}"]
        p50, p99, cpu = (
            median(values) for values in zip(*((t.seen.p50, t.seen.p99, t.cpu) for t in taken), strict=True)
        )
        errors = sum(t.seen.errors for t in taken)
        figures = [f"{rates[name]:,.0f}", f"×{rates[name] / ceiling:.2f}", f"{cpu:.0f}", f"{p50:.1f}", f"{p99:.1f}"]
        rows.append([name, *figures, str(errors)])
    yield table(["call", "per second", "against no-op", "CPU µs each", "p50 ms", "p99 ms", "errors"], rows)
    yield ""
    for what in ("decide", "reward"):
        for kind in ("sqlite", "postgresql"):
            if f"{WABBIT} {what}" in rates:
                ratio = rates[f"Holdfast on {kind} {what}"] / rates[f"{WABBIT} {what}"]
                yield f"as a service, {kind}: {what} is ×{ratio:.2f} the rate of {WABBIT} without durability"
