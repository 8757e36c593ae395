"""Sessions against a live service: episodes of a small MDP whose best values are known, saboteurs, and an auditor.

After every episode the run waits until no plan is due, so that plans take effect at the same places of every log.
"""

import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast_client import Client, LogEvent
from holdfast_client.episode import Episode
from holdfast_client.models import Step
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.mdps import END, Problem, combination_lock, deep_sea, recommender, river_swim
from holdfast_client.simulator.saboteurs import Decoy, Happened, Opportunist, Saboteur, Thief

PLAN_WITHIN_S = 30.0


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
)  # fmt: skip
SESSIONS = {scenario.id: scenario for scenario in _ALL}


def _features(problem: Problem) -> dict[str, Any]:
    states, actions, dimension = problem.features.shape
    if problem.function["kind"] == "tabular":
        names = [str(action) for action in range(actions)]
        return {"kind": "dense", "joint": "cell", "context": 1, "states": states, "actions": names}
    return {"kind": "dense", "action": dimension, "joint": "action"}


def _question(problem: Problem, x: int) -> tuple[Any, list[Any]]:
    """The state and the candidates as the SDK takes them."""
    if problem.function["kind"] == "tabular":
        return [x], [{"id": str(a)} for a in range(problem.features.shape[1])]
    return None, [{"id": str(a), "features": row} for a, row in enumerate(problem.features[x].tolist())]


class SessionAuditor:
    """Acknowledged means kept: steps and rewards in the log where and as they were told, each episode learned once."""

    def __init__(self) -> None:
        self.episodes: set[str] = set()
        self.steps: dict[tuple[str, int], tuple[int | None, str]] = {}
        self.rewards: dict[tuple[str, int], tuple[int | None, float]] = {}
        self.weights: list[float] = []  # of steps, as they were learned
        self.violations: list[Violation] = []
        self._position = 0
        self._seen: Counter[tuple[str, ...]] = Counter()

    def see(self, event: LogEvent) -> None:
        """The next event of the log."""
        self._position += 1
        if event.position != self._position:
            self._accuse("gap", f"{event.position} stands where {self._position} should")
            self._position = event.position
        name = event.extra.get("episode_id")
        if name is None:
            return  # a plan, a longer horizon
        number = event.extra.get("step") or 0
        self._seen[event.kind, name, str(number)] += 1
        if name not in self.episodes:
            self._accuse("ghost", f"{event.kind} of {name} at {event.position}")
        if event.kind == "step" and self.steps.get((name, number)) != (event.position, event.extra["action"]):
            self._accuse("altered", f"step {number} of {name}")
        if event.kind == "learned":
            self.weights += event.extra["weights"]
        if event.kind == "reward" and self.rewards.get((name, number)) != (event.position, event.extra["value"]):
            self._accuse("altered", f"reward of step {number} of {name}")

    def close(self) -> None:
        """After the last event."""
        owed = [("step", name, str(number)) for name, number in self.steps]
        owed += [("reward", name, str(number)) for name, number in self.rewards]
        owed += [(kind, name, "0") for name in self.episodes for kind in ("episode", "learned")]
        for one in owed:
            if self._seen[one] != 1:
                self._accuse("lost" if self._seen[one] == 0 else "doubled", " ".join(one))

    def _accuse(self, kind: str, what: str) -> None:
        self.violations.append(Violation(kind, what))


class SessionRun:
    """Episodes, one after the other, until enough steps were made."""

    def __init__(self, client: Client, scenario: SessionScenario, seed: int, settings: dict[str, Any]) -> None:
        self.client, self.problem = client, scenario.problem(seed)
        self.saboteur = scenario.saboteur(self.problem, scenario.budget)
        self.auditor = SessionAuditor()
        self.rng = np.random.default_rng((seed, 30))
        self.learner = f"sim-{scenario.id}-{uuid.uuid4().hex[:12]}"
        self.regret: list[float] = []
        self.spent: list[float] = []
        self.latencies_s: list[float] = []
        client.create_learner(self.learner, **(scenario.settings(self.problem, seed) | settings))

    def play(self, number: int) -> None:
        """One episode, told as the saboteur would have it, and learned."""
        name, x = f"e-{number}", self.problem.begin(self.rng)
        self.auditor.episodes.add(name)
        episode = self.client.episode(self.learner, name).start()
        for h in range(1, self.problem.length + 1):
            x = self._step(episode, h, x, number)
            if x == END:
                break
        episode.finish()
        self._wait_for_plans()

    def _step(self, episode: Episode, h: int, x: int, number: int) -> int:
        """Where the session goes on."""
        state, actions = _question(self.problem, x)
        started = time.perf_counter()
        step: Step = episode.step(state, actions)
        self.latencies_s.append(time.perf_counter() - started)
        self.auditor.steps[episode.episode_id, h] = (step.position, step.action.id)
        action = int(step.action.id)
        honest = Happened(h, x, action, *self.problem.step(self.rng, x, action))
        told = self.saboteur.tell(honest, number) or honest
        result = episode.reward(told.reward)
        self.auditor.rewards[episode.episode_id, h] = (result.position, told.reward)
        before = self.regret[-1] if self.regret else 0.0
        self.regret.append(before + self.problem.regret(h, x, action))
        self.spent.append(self.saboteur.account.spent)
        return told.following

    def _wait_for_plans(self) -> None:
        deadline = time.monotonic() + PLAN_WITHIN_S
        while time.monotonic() < deadline:
            plans = self.client.diagnostics(self.learner).extra.get("plans", {})
            if not plans.get("is_due") and not plans.get("is_outgrown"):
                return
            time.sleep(0.005)

    def settle(self) -> list[Violation]:
        """The log against what was told; the learner is deleted unless something was wrong with it."""
        for event in self.client.log(self.learner):
            self.auditor.see(event)
        self.auditor.close()
        if not self.auditor.violations:
            self.client.delete_learner(self.learner)
        return self.auditor.violations
