"""Whether a step waits for a plan: steps over HTTP while plans are made, beside the same steps while none is."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.hosting.blueprint import canonical, draw_sessions
from holdfast.hosting.sessions.live import fresh_tally
from holdfast.learners import codec
from holdfast.learners.mdp import MdpState, Transition, replan
from holdfast.store import learners, snapshots
from holdfast.store.database import Database
from holdfast.store.snapshots import Snapshot
from tests.acceptance.server import Server, serving
from tests.benchmarks.load import request_bytes, run
from tests.benchmarks.tables import table, verdict
from tests.databases import fresh_url, migrated

CANDIDATES = 10
SLOWER_MAX = 3.0
HEAD = 50_000  # of each log


class Setting(NamedTuple):
    """Of the learners, and of the traffic: the plans of so many learners in a row make one block."""

    dimension: int = 8
    frequencies: int = 128  # 256 parameters
    length: int = 20
    episodes: int = 500  # that each learner has seen
    learners: int = 3
    blocks: int = 3
    rate: float = 100.0  # steps a second
    connections: int = 8


def report(setting: Setting) -> Iterator[str]:
    state, plan_s = _grown(setting)
    rows, ratios = [], {}
    for kind in ("sqlite", "postgresql"):
        with tempfile.TemporaryDirectory() as folder:
            quiet, busy = _measure(setting, kind, Path(folder), codec.encode(state), plan_s)
        ratios[kind] = median(one.p99 for one in busy) / median(one.p99 for one in quiet)
        rows += [_row(f"{kind}, no plan", quiet), _row(f"{kind}, during plans", busy)]
    yield (
        f"Steps over HTTP of {2 * setting.frequencies} parameters, H = {setting.length}, {CANDIDATES} candidates, "
        f"{state.models[0].groups.size:,} next states in each step's table: a plan takes {plan_s:.2f} s. "
        f"{setting.rate:g} steps a second, {setting.blocks} interleaved blocks, medians.\n"
    )
    yield table(["", "steps", "p50 ms", "p99 ms", "errors"], rows)
    yield ""
    for kind, ratio in ratios.items():
        yield f"{kind}: p99 of a step during plans is ×{ratio:.2f} that without {verdict('≤ 3', ratio <= SLOWER_MAX)}"


def _row(name: str, blocks: list["Block"]) -> list[object]:
    p50, p99 = (median(getattr(one, q) for one in blocks) for q in ("p50", "p99"))
    return [name, sum(one.count for one in blocks), f"{p50:.1f}", f"{p99:.1f}", sum(one.errors for one in blocks)]


class Block(NamedTuple):
    count: int
    p50: float
    p99: float
    errors: int


def _spec(setting: Setting) -> dict[str, Any]:
    return {
        "kind": "mdp",
        "features": {"kind": "dense", "action": setting.dimension, "joint": "action"},
        "function": {"kind": "fourier", "frequencies": setting.frequencies},
        "reward": {"min": 0.0, "max": 1.0, "out_of_range": "reject", "default": None, "step_max": None},
        "corruption": {"budget": 20.0, "premium": None},
        "horizon": 1_000_000,
        "episode_length": setting.length,
        "episode_timeout_s": 3600,
        "stationary": False,
        "radius": "practical",
        "exploration_floor": 0.0,
        "seed": 0,
    }


def _mdp(setting: Setting) -> Any:
    return draw_sessions(_spec(setting)).mdp


def _candidates(rng: np.random.Generator, dimension: int) -> Array:
    rows = rng.normal(size=(CANDIDATES, dimension))
    return 0.9 * rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _grown(setting: Setting) -> tuple[MdpState, float]:
    """A learner that has seen many states and is due for its first plan; and how long that plan takes."""
    mdp, rng = _mdp(setting), np.random.default_rng(0)
    state = mdp.init()
    for _ in range(setting.episodes):
        options = [_candidates(rng, setting.dimension) for _ in range(setting.length)]
        rewards = rng.random(setting.length) / setting.length
        known = [
            Transition(h, options[h - 1][0], float(rewards[h - 1]), options[h] if h < setting.length else None)
            for h in range(1, setting.length + 1)
        ]
        state, _ = mdp.learn(state, known, donate=True)
    started = time.perf_counter()
    replan(mdp, state)
    return state, time.perf_counter() - started


def _measure(setting: Setting, kind: str, folder: Path, due: bytes, plan_s: float) -> tuple[list[Block], list[Block]]:
    """In turn: while the plans of a few learners are made one after the other, and on the same learners after that."""
    tally = fresh_tally(draw_sessions(_spec(setting))).to_json()
    url, quiet, busy = fresh_url(kind, folder), [], []
    names = [[f"block-{block}-{i}" for i in range(setting.learners)] for block in range(setting.blocks)]
    for database in migrated(url):
        for name in (name for group in names for name in group):
            _place(database, name, _spec(setting), Snapshot(HEAD, due, tally))
    with serving(url) as server:
        for group in names:
            busy.append(_block(setting, server, group, plan_s, "busy"))
            _wait_for_plans(server, group)
            quiet.append(_block(setting, server, group, plan_s, "quiet"))
    return quiet, busy


def _place(database: Database, name: str, spec: dict[str, Any], snapshot: Snapshot) -> None:
    """A learner with a long history, of which only the snapshot is needed."""
    with database.write() as connection:
        learners.create(connection, name, canonical(spec), 0)
        row = learners.find(connection, name)
        assert row is not None
        learners.change(connection, row.id, head=snapshot.position)
        snapshots.save(connection, row.id, snapshot, 0)


def _block(setting: Setting, server: Server, group: list[str], plan_s: float, when: str) -> Block:
    """Steps at a fixed rate, for a little less time than the plans of the group take one after the other."""
    count = max(40, int(0.7 * plan_s * len(group) * setting.rate))
    rng = np.random.default_rng(1)
    paths = []
    for name in group:  # which takes the learners up
        for episode in range(setting.connections + count // (len(group) * (setting.length - 1))):
            assert server.post(f"/v1/learners/{name}/episodes", {"episode_id": f"{when}-{episode}"}).status_code == 201
            paths.append(f"/v1/learners/{name}/episodes/{when}-{episode}/steps")
    rows = [_candidates(rng, setting.dimension).tolist() for _ in range(20)]
    bodies = [
        json.dumps({"actions": [{"id": str(i), "features": x} for i, x in enumerate(options)]}).encode()
        for options in rows
    ]
    requests = (request_bytes(paths[n % len(paths)], bodies[n % len(bodies)]) for n in range(count))
    seen = run(server.port, requests, count, setting.connections, setting.rate)
    return Block(count, seen.p50, seen.p99, seen.errors)


def _wait_for_plans(server: Server, group: list[str]) -> None:
    while any(server.http.get(f"/v1/learners/{name}/diagnostics").json()["plans"]["is_due"] for name in group):
        time.sleep(0.05)
