"""The use case "reward": find the decision, settle what the reward is worth, learn it, log it with its weight."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from holdfast.errors import Conflict, HoldfastError, InvalidInput, NotFound
from holdfast.hosting.decide import decision_event_id
from holdfast.hosting.expire import expire
from holdfast.hosting.live import LiveBandit, LiveLearner
from holdfast.hosting.operation import Needs, OneByOne
from holdfast.hosting.records import DecisionRecord, RewardRecord, pack, shown_features, unpack_decision, unpack_reward
from holdfast.store.log import Event, Found, Transaction


class Claim(NamedTuple):
    """One reward as a caller says it."""

    decision_id: str
    value: float
    action_id: str | None
    source: str | None


class Verdict(NamedTuple):
    """What became of it."""

    decision_id: str
    outcome: str
    weight: float | None
    position: int


def reward_event_id(decision_id: str, shown: int) -> str:
    return f"r/{shown}/{decision_id}"


@dataclass(frozen=True)
class Reward(OneByOne):
    """Rewards of one learner, learned in the order given; a bad one does not stop the others."""

    acts_on: ClassVar[type] = LiveBandit

    learner: str
    claims: list[Claim]

    @property
    def size(self) -> int:
        return len(self.claims)

    def needs(self, live: LiveLearner) -> Needs:
        ids = [claim.decision_id for claim in self.claims if decision_event_id(claim.decision_id) not in live.open]
        return Needs(events=[decision_event_id(name) for name in ids] + [reward_event_id(name, 0) for name in ids])

    def perform(self, live: LiveBandit, transaction: Transaction, now: int) -> list[Verdict | HoldfastError]:
        if live.paused:
            raise Conflict("paused", "the learner is paused")
        return [_attempt(live, transaction, claim, now) for claim in self.claims]


def _attempt(live: LiveBandit, transaction: Transaction, claim: Claim, now: int) -> Verdict | HoldfastError:
    try:
        return _judge(live, transaction, claim, now)
    except HoldfastError as problem:
        return problem


def _judge(live: LiveBandit, transaction: Transaction, claim: Claim, now: int) -> Verdict:
    event_id = decision_event_id(claim.decision_id)
    known = live.open.forget(event_id)  # from here on something may have been said of it
    if known is not None:
        transaction.know(live.id, known)
    found = transaction.find(live.id, event_id)
    if found is None:
        raise NotFound("decision", "no such decision")
    record = unpack_decision(found.event.payload)
    shown = _shown(record, claim.action_id)
    reward = live.blueprint.reward.scaled(claim.value)
    first_only = live.blueprint.reward.aggregation == "first"
    if first_only:
        earlier = _earlier(live, transaction, claim, shown)
        if earlier is not None:
            return earlier
    if found.deadline is not None and found.deadline <= now:
        expire(live, transaction, [found.event], now)
        found = found._replace(deadline=None)
    outcome = _outcome(live, found, first_only)
    weight = live.learn(shown_features(record)[shown], reward) if outcome == "learned" else None
    learned = reward if outcome == "learned" else None
    _log(live, transaction, found.event, claim, RewardRecord(claim.value, shown, outcome, learned, weight), now)
    if outcome == "learned" and len(record.shown) == 1:
        transaction.settle(live.id, found.event)
    return Verdict(claim.decision_id, outcome, weight, live.position)


def _shown(record: DecisionRecord, action_id: str | None) -> int:
    """Which of the shown actions the reward is for; the chosen one if not said."""
    if action_id is None:
        return 0
    for place, index in enumerate(record.shown):
        if record.ids[index] == action_id:
            return place
    raise InvalidInput("/action_id", "was not shown by this decision")


def _earlier(live: LiveBandit, transaction: Transaction, claim: Claim, shown: int) -> Verdict | None:
    """The verdict of the first reward, if this is the same again; another value is a conflict."""
    event_id = reward_event_id(claim.decision_id, shown)
    if shown:
        transaction.look_up(live.id, [event_id])
    earlier = transaction.find(live.id, event_id)
    if earlier is None:
        return None
    record = unpack_reward(earlier.event.payload)
    if record.value != claim.value:
        raise Conflict("reward-exists", "this decision was rewarded with another value")
    live.duplicates += 1
    return Verdict(claim.decision_id, "duplicate", record.weight, earlier.event.position)


def _outcome(live: LiveBandit, found: Found, first_only: bool) -> str:
    if live.mode == "frozen":
        return "ignored"
    if found.deadline is None:
        return "late"
    return "learned" if first_only else "pending"


def _log(
    live: LiveBandit, transaction: Transaction, decision: Event, claim: Claim, record: RewardRecord, now: int
) -> None:
    live.position += 1
    live.tally.count(record.outcome)
    event_id = reward_event_id(claim.decision_id, record.shown)
    if live.blueprint.reward.aggregation != "first":
        # Each counts; a repeat is told by its Idempotency-Key alone.
        event_id = f"r/{record.shown}.{live.position}/{claim.decision_id}"
    event = Event(live.position, "reward", event_id, now, claim.source, decision.position, pack(record))
    transaction.append(live.id, event)
