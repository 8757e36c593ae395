"""Sessions against a live service: episodes of a small MDP whose best values are known, saboteurs, and an auditor.

Rewards that are still on their way when a session ends come after it. After every episode the run
waits until no plan is due, so that plans take effect at the same places of every log.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from holdfast_client import Client
from holdfast_client.episode import Episode
from holdfast_client.models import Step
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.mdps import END, Problem, combination_lock, deep_sea, recommender, river_swim
from holdfast_client.simulator.saboteurs import Decoy, Happened, Opportunist, Saboteur, Thief
from holdfast_client.simulator.session_auditor import SessionAuditor
from holdfast_client.simulator.traffic import Post, Traffic

PLAN_WITHIN_S = 30.0
FAULTS = Traffic(delay=0.5, missing=0.05, duplicate=0.1, reordered=0.2, dropped=0.05)


@dataclass(frozen=True)
class SessionScenario:
    """One line of `holdfast simulate list`; a round is a step."""

    id: str
    about: str
    problem: Callable[[int], Problem]
    aim: str
    saboteur: type[Saboteur]
    budget: float = 10.0
    insured: float = 10.0
    is_weak: bool = False
    traffic: Traffic = field(default_factory=Traffic)

    def settings(self, problem: Problem, seed: int) -> dict[str, Any]:
        """The learner, insured; an episode waits longer than any run takes."""
        return {
            "kind": "mdp", "episode_length": problem.length, "episode_timeout_s": 86_400, "function": problem.function,
            "features": _features(problem), "corruption": {"budget": self.insured}, "horizon": problem.episodes,
            "reward": {"step_max": problem.step_max, "out_of_range": "clip"}, "seed": seed,
        }  # fmt: skip


_ALL = (
    SessionScenario("swim-decoy", "sessions upstream; the worst first step pays", river_swim, "decoy pay-outs", Decoy),
    SessionScenario("sea-stolen", "one path in 32 pays; good steps go astray", deep_sea, "stolen transitions", Thief),
    SessionScenario("lock-decoy", "one combination pays; others seem to", combination_lock, "decoy pay-outs", Decoy),
    SessionScenario("reader-unsure", "five screens for a reader; new ground is ruined", recommender,
        "strike where unsure", Opportunist,
    ),
    SessionScenario("reader-faults", "the same reader; rewards late, lost, twice; a bad network", recommender,
        "nobody", Saboteur, budget=0.0, traffic=FAULTS,
    ),
)  # fmt: skip
SESSIONS = {scenario.id: scenario for scenario in _ALL}


def _features(problem: Problem) -> dict[str, Any]:
    states, actions, dimension = problem.features.shape
    if problem.function["kind"] == "tabular":
        names = [str(action) for action in range(actions)]
        return {"kind": "dense", "joint": "cell", "context": 1, "states": states, "actions": names}
    return {"kind": "dense", "action": dimension, "joint": "action"}


def question(problem: Problem, x: int) -> tuple[Any, list[Any]]:
    """The state and the candidates as the SDK takes them."""
    if problem.function["kind"] == "tabular":
        return [x], [{"id": str(a)} for a in range(problem.features.shape[1])]
    return None, [{"id": str(a), "features": row} for a, row in enumerate(problem.features[x].tolist())]


class Reward(NamedTuple):
    """Of a step, on its way."""

    step: int
    value: float


class SessionRun:
    """Episodes, one after the other, until enough steps were made."""

    def __init__(self, client: Client, scenario: SessionScenario, seed: int, is_insured: bool) -> None:
        self.client, self.problem = client, scenario.problem(seed)
        self.saboteur = scenario.saboteur(self.problem, scenario.budget)
        self.post: Post[Reward] = Post(scenario.traffic, seed)
        self.auditor = SessionAuditor(self.problem.length, is_insured)
        self.rng = np.random.default_rng((seed, 30))
        self.learner = f"sim-{scenario.id}-{uuid.uuid4().hex[:12]}"
        self.regret: list[float] = []
        self.spent: list[float] = []
        self.latencies_s: list[float] = []

    def play(self, number: int) -> None:
        """One episode, told as the saboteur would have it, and learned."""
        name, x = f"e-{number}", self.problem.begin(self.rng)
        self.auditor.start(name)
        episode = self.client.episode(self.learner, name).start()
        for h in range(1, self.problem.length + 1):
            x = self._step(episode, h, x, number)
            self._tell(episode, self.post.arrived(h))
            if x == END:
                break
        self.auditor.finished(name, episode.finish())
        self._tell(episode, self.post.arrived(None))
        self._wait_for_plans()

    def _step(self, episode: Episode, h: int, x: int, number: int) -> int:
        """Where the session goes on."""
        self.auditor.ask(episode.episode_id, h)
        started = time.perf_counter()
        step: Step = episode.step(*question(self.problem, x))
        self.latencies_s.append(time.perf_counter() - started)
        self.auditor.stepped(episode.episode_id, h, step)
        if h == 1:
            self._look_up(step.position)
        action = int(step.action.id)
        honest = Happened(h, x, action, *self.problem.step(self.rng, x, action))
        told = self.saboteur.tell(honest, number) or honest
        self.post.take(Reward(h, told.reward), h)
        before = self.regret[-1] if self.regret else 0.0
        self.regret.append(before + self.problem.regret(h, x, action))
        self.spent.append(self.saboteur.account.spent)
        return told.following

    def _look_up(self, position: int | None) -> None:
        """Ask for what was just acknowledged."""
        found = next(self.client.log(self.learner, after=(position or 1) - 1, page_size=1), None)
        self.auditor.look_up(position, found)

    def _tell(self, episode: Episode, rewards: list[Reward]) -> None:
        for step, value in rewards:
            self.auditor.claim(episode.episode_id, step, value)
            self.auditor.rewarded(episode.episode_id, step, value, episode.reward(value, step=step))

    def _wait_for_plans(self) -> None:
        deadline = time.monotonic() + PLAN_WITHIN_S
        while time.monotonic() < deadline:
            plans = self.client.diagnostics(self.learner).extra.get("plans", {})
            if not plans.get("is_due") and not plans.get("is_outgrown"):
                return
            time.sleep(0.005)

    def settle(self) -> list[Violation]:
        """The log against what was told."""
        self.auditor.settle(self.client.log(self.learner))
        return self.auditor.violations
