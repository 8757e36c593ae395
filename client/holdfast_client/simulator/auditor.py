"""The auditor: what the callers were told against what the service keeps.

1. Acknowledged means kept: there at once for anyone who asks, and in the log at the end, where and as it was told.
2. A reward is learned the first time and a duplicate ever after; its weight is in (0, 1], and 1 without insurance.
3. Positions have no gap; nothing is in the log twice, and nothing that nobody sent.
4. The diagnostics count what the log holds, and the gauge never claims more corruption than there was.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast_client import Claim, Decision, Diagnostics, LogEvent, NotFound, RewardResult
from holdfast_client.models import DecisionRecord

VIOLATIONS_SHOWN_MAX = 20


class Violation(NamedTuple):
    """A broken promise."""

    kind: str
    what: str


class Kept(NamedTuple):
    """A decision or a reward as its caller was told of it."""

    position: int | None
    content: tuple[object, ...]


class Owed(NamedTuple):
    """What has been acknowledged of a decision."""

    decision: Kept
    reward: Kept | None


class Auditor:
    """Notes every answer, and settles them against the log."""

    def __init__(self, is_insured: bool) -> None:
        self._is_insured = is_insured
        self._asked: set[str] = set()
        self._claimed: dict[str, tuple[float, str | None]] = {}  # value and source
        self._flying: Counter[str] = Counter()  # copies of a claim under way
        self.decisions: dict[str, Kept] = {}
        self.rewards: dict[str, Kept] = {}
        self._position = 0
        self._made: dict[int, str] = {}  # by position
        self._made_names: set[str] = set()
        self._said: set[str] = set()
        self.duplicates = 0
        self.violations: list[Violation] = []

    def ask(self, decision_ids: Iterable[str]) -> None:
        """Before a call: what it may leave in the log even if its answer never comes."""
        self._asked.update(decision_ids)

    def decided(self, made: Sequence[Decision]) -> None:
        for decision in made:
            if decision.decision_id not in self._asked:
                self._accuse("ghost", f"an answer for {decision.decision_id}, which nobody asked for")
            self.decisions[decision.decision_id] = Kept(decision.position, (decision.action.id,))

    def claim(self, claims: Sequence[Claim]) -> None:
        """Before a call."""
        self._claimed.update((claim["decision_id"], (claim["value"], claim.get("source"))) for claim in claims)
        self._flying.update(claim["decision_id"] for claim in claims)

    def rewarded(self, claims: Sequence[Claim], results: Sequence[RewardResult]) -> None:
        for claim, result in zip(claims, results, strict=True):
            name = claim["decision_id"]
            self._land(name)
            expected = "duplicate" if name in self.rewards else "learned"
            # Of two copies under way at once either may be the first, whichever is answered first.
            is_overtaken = result.outcome == "duplicate" and self._flying[name] > 0
            if result.decision_id != name or (result.outcome != expected and not is_overtaken):
                self._accuse("wrong outcome", f"reward of {name}: {result.outcome} instead of {expected}")
            elif result.outcome == "duplicate":
                self.duplicates += 1
            else:
                self._check_weight(name, result.weight)
                content = (claim["value"], claim.get("source"), result.weight)
                self.rewards[name] = Kept(result.position, content)

    def _land(self, name: str) -> None:
        """One copy less under way; what has landed is forgotten, since a soak has millions."""
        self._flying[name] -= 1
        if self._flying[name] <= 0:
            del self._flying[name]

    def _check_weight(self, name: str, weight: float | None) -> None:
        fine = weight is not None and 0.0 < weight <= 1.0 and (self._is_insured or weight == 1.0)
        if not fine:
            self._accuse("wrong weight", f"reward of {name}: {weight}")

    def owed(self, name: str) -> Owed:
        """What somebody who asks for a decision from now on must find."""
        return Owed(self.decisions[name], self.rewards.get(name))

    def look_up(self, name: str, owed: Owed, record: DecisionRecord | NotFound) -> None:
        """What was found, against what was owed when the question was asked."""
        if isinstance(record, NotFound):
            self._accuse("not durable", f"{name} was acknowledged and is not there")
        elif (record.position, (record.action,)) != owed.decision:
            self._accuse("not durable", f"{name} is there with another content")
        elif owed.reward and owed.reward.content[0] not in [said.value for said in record.rewards]:
            self._accuse("not durable", f"the reward of {name} was acknowledged and is not there")

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
        name = event.decision_id or ""
        if event.kind == "decision":
            self._settle_decision(name, event)
        elif event.kind == "reward":
            self._settle_reward(name, event)
        elif event.kind == "expiry" and event.extra["about"] not in self._made:
            self._accuse("ghost", f"expiry at {event.position}")

    def close(self) -> None:
        """After the last event: what was acknowledged and did not come."""
        self._lost("decision", self.decisions.keys() - self._made_names)
        self._lost("reward", self.rewards.keys() - self._said)

    def _settle_decision(self, name: str, event: LogEvent) -> None:
        if name in self._made_names:
            self._accuse("doubled", f"decision {name} again at {event.position}")
        self._made[event.position] = name
        self._made_names.add(name)
        if name not in self._asked:
            self._accuse("ghost", f"decision {name} at {event.position}")
        told = self.decisions.get(name)
        if told is not None and told.position != event.position:
            self._accuse("doubled", f"decision {name} at {event.position} and {told.position}")
        elif told is not None and told.content != (event.extra["action"],):
            self._accuse("altered", f"decision {name}")

    def _settle_reward(self, name: str, event: LogEvent) -> None:
        claim = self._claimed.get(name)
        if claim is None or self._made.get(event.extra["about"]) != name:
            self._accuse("ghost", f"reward of {name} at {event.position}")
            return
        if name in self._said:
            self._accuse("doubled", f"reward of {name} again at {event.position}")
            return
        self._said.add(name)
        kept = tuple(event.extra[field] for field in ("value", "source", "weight"))
        told = self.rewards.get(name, Kept(event.position, (*claim, kept[2])))
        if told != (event.position, kept):
            self._accuse("altered", f"reward of {name}")

    def _lost(self, what: str, names: Iterable[str]) -> None:
        for name in sorted(names):
            self._accuse("lost", f"{what} of {name} was acknowledged and is not in the log")

    def compare(self, diagnostics: Diagnostics, spent: float) -> None:
        """After `close`, when nothing is under way: the service's own count, and its gauge against the truth."""
        counted = diagnostics.rewards.get("learned", 0)
        if counted != len(self._said):
            self._accuse("wrong count", f"{counted} rewards learned, {len(self._said)} in the log")
        if diagnostics.position < self._position:
            self._accuse("wrong count", f"position {diagnostics.position}, and the log goes to {self._position}")
        estimate = (diagnostics.gauge or {}).get("estimate")
        if estimate is not None and estimate > spent + 1e-9:
            self._accuse("wrong gauge", f"{estimate} claimed, {spent} spent")

    def _accuse(self, kind: str, what: str) -> None:
        self.violations.append(Violation(kind, what))
