"""The auditor of sessions: what the callers were told of episodes, steps and rewards against what the service keeps.

1. Acknowledged means in the log, at once for anyone who asks, where and as it was told; nothing is there twice, or that
   nobody sent, and no gap.
2. An episode is learned once, when no step and no reward is still to come: until then a reward is `pending`, the one
   that completes it is `learned`, and one that comes again a `duplicate`.
3. The weights of its steps are in (0, 1], and 1 without insurance.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from holdfast_client import LogEvent, RewardResult
from holdfast_client.models import EpisodeEnd, Step
from holdfast_client.simulator.auditor import Violation

Place: TypeAlias = tuple[str, int]  # an episode and a step


class SessionAuditor:
    """Notes every answer, and settles them against the log."""

    def __init__(self, length: int, is_insured: bool = True) -> None:
        self._length, self._is_insured = length, is_insured
        self._asked: set[tuple[str, str, int]] = set()  # kind, episode, step: what may be in the log, answered or not
        self._made: Counter[str] = Counter()  # steps of an episode
        self._told: Counter[str] = Counter()  # of these, with a reward
        self._finished: set[str] = set()
        self._claimed: dict[Place, float] = {}
        self.steps: dict[Place, tuple[int | None, str]] = {}
        self.rewards: dict[Place, tuple[int | None, float]] = {}
        self.duplicates = 0
        self.weights: list[float] = []  # of steps, as they were learned
        self.violations: list[Violation] = []
        self._position = 0
        self._seen: Counter[tuple[str, str, int]] = Counter()

    def start(self, name: str) -> None:
        """Before an episode is started."""
        self._asked.update((kind, name, 0) for kind in ("episode", "finish", "learned"))

    def ask(self, name: str, step: int) -> None:
        """Before a step is asked for."""
        self._asked.add(("step", name, step))

    def stepped(self, name: str, number: int, step: Step) -> None:
        if step.step != number:
            self._accuse("wrong step", f"{step.step} of {name} instead of {number}")
        self.steps[name, number] = (step.position, step.action.id)
        self._made[name] += 1

    def claim(self, name: str, step: int, value: float) -> None:
        """Before a reward is sent."""
        self._asked.add(("reward", name, step))
        self._claimed[name, step] = value

    def rewarded(self, name: str, step: int, value: float, result: RewardResult) -> None:
        if (name, step) in self.rewards:
            self.duplicates += 1
            self._check_outcome(f"reward of step {step} of {name}", result.outcome, "duplicate")
            return
        self._told[name] += 1
        self.rewards[name, step] = (result.position, value)
        self._check_outcome(f"reward of step {step} of {name}", result.outcome, self._state(name))

    def finished(self, name: str, end: EpisodeEnd) -> None:
        self._finished.add(name)
        self._check_outcome(f"finish of {name}", end.outcome, self._state(name))

    def _state(self, name: str) -> str:
        """Of an episode, by all that was acknowledged."""
        is_over = name in self._finished or self._made[name] == self._length
        return "learned" if is_over and self._told[name] == self._made[name] else "pending"

    def _check_outcome(self, what: str, said: object, expected: str) -> None:
        if said != expected:
            self._accuse("wrong outcome", f"{what}: {said} instead of {expected}")

    def look_up(self, position: int | None, found: LogEvent | None) -> None:
        """What stands at a place of the log that was acknowledged just now."""
        if found is None or found.position != position:
            self._accuse("not durable", f"position {position} was acknowledged and is not there")

    def settle(self, events: Iterable[LogEvent]) -> None:
        """The whole log, from its first event."""
        for event in events:
            self.see(event)
        self.close()

    def see(self, event: LogEvent) -> None:
        """The next event of the log."""
        self._position += 1
        if event.position != self._position:
            self._accuse("gap", f"{event.position} stands where {self._position} should")
            self._position = event.position
        name = event.extra.get("episode_id")
        if name is None:
            return  # a plan, a longer horizon
        place = (name, event.extra.get("step") or 0)
        self._seen[event.kind, *place] += 1
        if (event.kind, *place) not in self._asked:
            self._accuse("ghost", f"{event.kind} of {name} at {event.position}")
        elif event.kind == "step" and self.steps.get(place) not in (None, (event.position, event.extra["action"])):
            self._accuse("altered", f"step {place[1]} of {name}")
        elif event.kind == "reward":
            told = self.rewards.get(place, (event.position, self._claimed[place]))
            if told != (event.position, event.extra["value"]):
                self._accuse("altered", f"reward of step {place[1]} of {name}")
        elif event.kind == "learned":
            self._see_weights(name, event.extra["weights"])

    def _see_weights(self, name: str, weights: list[float]) -> None:
        self.weights += weights
        if not all(0.0 < weight <= 1.0 and (self._is_insured or weight == 1.0) for weight in weights):
            self._accuse("wrong weight", f"{name}: {weights}")

    def close(self) -> None:
        """After the last event: what was acknowledged must be there, and nothing twice."""
        owed = {("step", *place) for place in self.steps} | {("reward", *place) for place in self.rewards}
        owed |= {("episode", name, 0) for name in self._made}
        owed |= {("learned", name, 0) for name in self._made if self._state(name) == "learned"}
        for kind, name, step in sorted(owed | self._seen.keys()):
            times = self._seen[kind, name, step]
            if times != 1:
                self._accuse("lost" if times == 0 else "doubled", f"{kind} {step} of {name}")

    def _accuse(self, kind: str, what: str) -> None:
        self.violations.append(Violation(kind, what))
