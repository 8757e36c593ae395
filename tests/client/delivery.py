"""Decisions and rewards through a bad network and a kill -9: is every one of them on the server exactly once?

`python -m tests.client.delivery` runs it at full size; exit code 1 if anything was lost or doubled.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.engine import URL

from holdfast_client import AsyncClient, AsyncRewardQueue, Client, Decision, Retries, RewardQueue
from holdfast_client.simulator.network import AsyncFaultyTransport, Fault, FaultyTransport, Weather
from tests.acceptance.server import Server, serving
from tests.databases import fresh_url

FAULTY_SHARE = 0.3
BATCH = 10
PATIENT: dict[str, Any] = {"timeout": 60.0, "decision_timeout": 60.0, "retries": Retries(most=200, pause_s_max=0.5)}
# Every reward counts, so that one that is sent twice and taken twice would show.
LEARNER: dict[str, Any] = {"features": {"kind": "dense", "context": 2, "action": 1}}
LEARNER |= {"reward": {"aggregation": "sum", "wait_s": 3600}}
ACTIONS = {"a": [0.3], "b": [0.9], "c": [0.5]}


@dataclass
class Ledger:
    """What the callers were told."""

    decisions: dict[str, str] = field(default_factory=dict)  # id → action
    rewards: dict[str, float] = field(default_factory=dict)  # id → value

    def note(self, *decisions: Decision) -> None:
        assert not any(decision.fallback for decision in decisions)
        self.decisions.update((decision.decision_id, decision.action.id) for decision in decisions)


class Report(NamedTuple):
    """What was acknowledged, and where the server's log disagrees."""

    decisions: int
    rewards: int
    faults: Counter[Fault]
    lost: int
    doubled: int
    invented: int
    altered: int

    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.invented or self.altered)


def value_of(decision_id: str) -> float:
    return int(decision_id[:4], 16) / 65_536


def question(number: int) -> dict[str, Any]:
    return {"context": [0.1 * (number % 7), 0.2], "actions": ACTIONS}


def call_from_threads(client: Client, ledger: Ledger, count: int) -> None:
    """One by one, in batches, and through the queue, in turn."""
    with client.rewards_in_background(batch_max=BATCH, close_within=120) as queue, ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda start: _some(client, queue, ledger, start), range(0, count, BATCH)):
            pass
    assert queue.counts.delivered == queue.counts.added


def _some(client: Client, queue: RewardQueue, ledger: Ledger, start: int) -> None:
    numbers, turn = range(start, start + BATCH), start // BATCH % 3
    if turn == 0:
        made = client.decide_many("home", [question(number) for number in numbers])
        said = [{"decision_id": d.decision_id, "value": value_of(d.decision_id)} for d in made]
        results = client.reward_many("home", said)
        assert {result.outcome for result in results} == {"pending"}
    else:
        made = [client.decide("home", **question(number)) for number in numbers]
        for decision in made:
            if turn == 1:
                assert client.reward("home", decision, value_of(decision.decision_id)).outcome == "pending"
            else:
                assert queue.add("home", decision, value_of(decision.decision_id))
    ledger.note(*made)
    ledger.rewards.update((d.decision_id, value_of(d.decision_id)) for d in made)


async def call_from_tasks(client: AsyncClient, ledger: Ledger, count: int) -> None:
    """The same with the asynchronous twin."""
    async with client, client.rewards_in_background(batch_max=BATCH, close_within=120) as queue:
        for start in range(0, count, 4 * BATCH):
            starts = range(start, min(start + 4 * BATCH, count), BATCH)
            await asyncio.gather(*(_some_async(client, queue, ledger, start) for start in starts))
    assert queue.counts.delivered == queue.counts.added


async def _some_async(client: AsyncClient, queue: AsyncRewardQueue, ledger: Ledger, start: int) -> None:
    made = [await client.decide("home", **question(number)) for number in range(start, start + BATCH)]
    for place, decision in enumerate(made):
        if place % 2:
            await client.reward("home", decision, value_of(decision.decision_id))
        else:
            assert await queue.add("home", decision, value_of(decision.decision_id))
    ledger.note(*made)
    ledger.rewards.update((d.decision_id, value_of(d.decision_id)) for d in made)


def run(url: URL, count: int, seed: int, faulty_share: float = FAULTY_SHARE) -> Report:
    """`count` decisions and as many rewards, half of them from each twin, with one kill -9 in the middle."""
    weather, ledger = Weather(share=faulty_share, seed=seed), Ledger()
    with serving(url) as server, Client(str(server.http.base_url)) as auditor:
        auditor.create_learner("home", **LEARNER)
        address = str(server.http.base_url)
        killer = threading.Thread(target=_kill_in_the_middle, args=(server, ledger, count))
        killer.start()
        with ThreadPoolExecutor(1) as pool:
            asynchronous = AsyncClient(address, transport=AsyncFaultyTransport(weather), **PATIENT)
            there = pool.submit(asyncio.run, call_from_tasks(asynchronous, ledger, count // 2))
            with Client(address, transport=FaultyTransport(weather), **PATIENT) as client:
                call_from_threads(client, ledger, count - count // 2)
            there.result()
        killer.join()
        return audit(auditor, ledger, weather)


def _kill_in_the_middle(server: Server, ledger: Ledger, count: int) -> None:
    while len(ledger.decisions) < count // 2:
        time.sleep(0.005)
    server.kill()
    server.start()


def audit(client: Client, ledger: Ledger, weather: Weather) -> Report:
    """The callers' ledger against the server's log."""
    made: Counter[str] = Counter()
    rewarded: Counter[str] = Counter()
    altered, names_at = 0, {}
    for event in client.log("home"):
        if event.kind == "decision":
            name = names_at[event.position] = event.decision_id or ""
            made[name] += 1
            altered += event.extra["action"] != ledger.decisions.get(name)
        else:
            name = names_at[event.extra["about"]]
            rewarded[name] += 1
            altered += event.extra["value"] != ledger.rewards.get(name)
    known = [(made, ledger.decisions.keys()), (rewarded, ledger.rewards.keys())]
    return Report(
        decisions=len(ledger.decisions),
        rewards=len(ledger.rewards),
        faults=weather.seen,
        lost=sum(len(names - counted.keys()) for counted, names in known),
        doubled=sum(times - 1 for counted, _ in known for times in counted.values()),
        invented=sum(len(counted.keys() - names) for counted, names in known),
        altered=altered,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.client.delivery", description=__doc__)
    parser.add_argument("--count", type=int, default=5_000, help="decisions, and as many rewards")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holdfast-delivery-") as folder:
        report = run(fresh_url("sqlite", Path(folder)), arguments.count, arguments.seed)
    faults = ", ".join(f"{fault.value} {times}" for fault, times in sorted(report.faults.items()))
    print(f"acknowledged: {report.decisions} decisions, {report.rewards} rewards, one kill -9 in the middle")
    print(f"requests by what happened to them: {faults}")
    print(f"lost {report.lost}, doubled {report.doubled}, invented {report.invented}, altered {report.altered}")
    print(f"({time.monotonic() - started:.0f} s)", file=sys.stderr)
    return 0 if report.is_clean() else 1


if __name__ == "__main__":
    sys.exit(main())
