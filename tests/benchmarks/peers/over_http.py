"""Regret over HTTP: Holdfast's service through its SDK, and Vowpal Wabbit behind FastAPI, in batches of rounds."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

import httpx
import numpy as np

from holdfast_client import Client
from holdfast_client.simulator.adversaries import Moment
from holdfast_client.simulator.local import own_service
from holdfast_client.simulator.problems import Environment, Round
from tests.benchmarks.peers.contests import CONTESTS
from tests.benchmarks.peers.ours import INSURED, UNINSURED
from tests.benchmarks.peers.roster import roster
from tests.benchmarks.peers.service import WABBIT, started
from tests.benchmarks.peers.tuning import Choices
from tests.benchmarks.service import Noop
from tests.benchmarks.tables import table

BATCH = 20
HTTP_CONTESTS = ("fixed catalogue", "cold item")


class Setting(NamedTuple):
    rounds: int = 1_000  # T; every run goes on to 4T
    seeds: int = 10
    budget: float = 10.0


class Remote(Protocol):
    """A learner at the other end of a connection."""

    def decide(self, rounds: list[Round]) -> list[int]: ...
    def reward(self, values: list[float]) -> None: ...


class RemoteHoldfast:
    """The durable service, through the SDK."""

    def __init__(self, client: Client, name: str, environment: Environment, budget: float, seed: int) -> None:
        self.client, self.name, self.asked = client, name, [""]
        reward = {"wait_s": 86_400, "default": None}
        settings: dict[str, Any] = {**environment.learner, "corruption": {"budget": budget}, "reward": reward}
        client.create_learner(name, seed=seed, **settings)

    def decide(self, rounds: list[Round]) -> list[int]:
        made = self.client.decide_many(self.name, [{"actions": round_.actions()} for round_ in rounds])  # type: ignore[typeddict-item]
        self.asked = [decision.decision_id for decision in made]
        return [decision.action.index for decision in made]

    def reward(self, values: list[float]) -> None:
        claims = [{"decision_id": name, "value": value} for name, value in zip(self.asked, values, strict=True)]
        self.client.reward_many(self.name, claims)  # type: ignore[arg-type]


class RemoteWabbit:
    """Its shell keeps one learner, which starts over with each run."""

    def __init__(self, http: httpx.Client, words: str, seed: int) -> None:
        self.http, self.asked = http, [""]
        http.post("/learner", json={"words": words, "seed": seed}).raise_for_status()

    def decide(self, rounds: list[Round]) -> list[int]:
        answer = self.http.post("/decide/batch", json=[{"context": [], "actions": r.actions()} for r in rounds])
        self.asked = [decision["decision_id"] for decision in answer.raise_for_status().json()]
        return [decision["index"] for decision in answer.json()]

    def reward(self, values: list[float]) -> None:
        claims = [{"decision_id": name, "value": value} for name, value in zip(self.asked, values, strict=True)]
        self.http.post("/reward/batch", json=claims).raise_for_status()


def play(remote: Remote, contest: str, environment: Environment, setting: Setting, seed: int) -> tuple[float, float]:
    """Regret at T and at 4T."""
    rounds = 4 * setting.rounds
    adversary = CONTESTS[contest].adversary(seed, rounds, setting.budget)
    rng, regret = np.random.default_rng((seed, 20)), np.zeros(rounds)
    for start in range(0, rounds, BATCH):
        times = range(start, min(start + BATCH, rounds))
        asked = [environment.round(t) for t in times]
        told = []
        for t, round_, chosen in zip(times, asked, remote.decide(asked), strict=True):
            regret[t] = round_.means.max() - round_.means[chosen]
            honest = environment.reward(rng, round_, chosen)
            told.append(adversary.corrupt(Moment(round_, t, chosen, honest)))
        remote.reward(told)
    total = np.cumsum(regret)
    return float(total[setting.rounds - 1]), float(total[-1])


def measure(setting: Setting, choices: Choices) -> dict[tuple[str, str], list[tuple[float, float]]]:
    results: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with ExitStack() as stack:
        client = stack.enter_context(Client(stack.enter_context(own_service()).url))
        shell = stack.enter_context(started("tests.benchmarks.peers.shell")) if WABBIT in roster().entries else None
        for contest in HTTP_CONTESTS:
            for seed in range(setting.seeds):
                for learner, budget in ((INSURED, setting.budget), (UNINSURED, 0.0)):
                    world = CONTESTS[contest].world(seed, setting.rounds)
                    name = f"{contest} {learner} {seed}".replace(" ", "-").lower()
                    remote = RemoteHoldfast(client, name, world, budget, seed)
                    results.setdefault((contest, learner), []).append(play(remote, contest, world, setting, seed))
                if shell is not None:
                    run = _play_wabbit(shell, contest, setting, choices, seed)
                    results.setdefault((contest, WABBIT), []).append(run)
    return results


def _play_wabbit(shell: Noop, contest: str, setting: Setting, choices: Choices, seed: int) -> tuple[float, float]:
    from tests.benchmarks.peers.wabbit import words  # only there if it is installed

    world = CONTESTS[contest].world(seed, setting.rounds)
    with httpx.Client(base_url=f"http://127.0.0.1:{shell.port}", timeout=60) as http:
        remote = RemoteWabbit(http, words(choices[contest, WABBIT].setting), seed)
        return play(remote, contest, world, setting, seed)


def report(setting: Setting, choices: Choices) -> Iterator[str]:
    results = measure(setting, choices)
    yield (
        f"The same contests over HTTP, T = {setting.rounds:,}, budget {setting.budget:g}, {setting.seeds} seeds; "
        f"{BATCH} decisions, then their rewards, in one call each. {WABBIT} has the setting it was tuned to.\n"
    )
    rows = []
    for (contest, learner), runs in results.items():
        early, late = np.median(np.array(runs), axis=0)
        worst = float(np.quantile([run[1] for run in runs], 0.9))
        rows.append(
            [contest, learner, f"{early:.0f}", f"{late:.0f}", f"{worst:.0f}", f"×{late / max(early, 1e-9):.2f}"]
        )
    yield table(["contest", "learner", "median T", "median 4T", "p90 4T", "growth"], rows)
