"""The use case "reward" of a step: kept until its episode can be learned as a whole."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from holdfast.errors import Conflict, InvalidInput, NotFound
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import Needs, OneByOne
from holdfast.hosting.sessions.close import close_if_complete, close_late
from holdfast.hosting.sessions.episode import Episode, find_episode, refuse_if_paused
from holdfast.hosting.sessions.live import LiveSessions
from holdfast.hosting.sessions.records import LearnedRecord, StepRewardRecord, event_id, pack, unpack
from holdfast.store.log import Event, Transaction


class StepClaim(NamedTuple):
    """A reward and what becomes of it."""

    step: int
    source: str | None
    record: StepRewardRecord


class StepVerdict(NamedTuple):
    episode_id: str
    step: int
    outcome: str
    weight: float | None
    position: int


@dataclass(frozen=True)
class RewardStep(OneByOne):
    """What one step was worth; in any order, at any time until the episode is over, and once."""

    acts_on: ClassVar[type] = LiveSessions

    learner: str
    episode_id: str
    step: int
    value: float
    source: str | None

    def needs(self, live: LiveLearner) -> Needs:
        return Needs(said=[event_id("e", self.episode_id)])

    def perform(self, live: LiveSessions, transaction: Transaction, now: int) -> StepVerdict:
        refuse_if_paused(live)
        episode = find_episode(live, transaction, self.episode_id)
        if self.step > episode.steps:
            raise NotFound("step", "the episode has no such step yet")
        if self.step in episode.rewards:
            return self._again(live, episode)
        claim = settled_claim(live, episode, self.step, self.value, self.source, "/value")
        if episode.deadline is not None and episode.deadline <= now:
            close_late(live, transaction, episode, now)
            episode = find_episode(live, transaction, self.episode_id)
            claim = settled_claim(live, episode, self.step, self.value, self.source, "/value")
        position = log_reward(live, transaction, episode, claim, now)
        episode = find_episode(live, transaction, self.episode_id)
        record = close_if_complete(live, transaction, episode, now)
        weight = None if record is None else _weight(record, self.step)
        outcome = claim.record.outcome if weight is None else "learned"
        return StepVerdict(self.episode_id, self.step, outcome, weight, position)

    def _again(self, live: LiveSessions, episode: Episode) -> StepVerdict:
        """The same value again is no news; another is a conflict."""
        if episode.rewards[self.step].value != self.value:
            raise Conflict("reward-exists", "this step was rewarded with another value")
        live.duplicates += 1
        weight = None
        if episode.learned is not None and episode.rewards[self.step].outcome == "pending":
            weight = _weight(unpack(episode.learned.payload, LearnedRecord), self.step)
        return StepVerdict(self.episode_id, self.step, "duplicate", weight, episode.reward_positions[self.step])


def settled_claim(
    live: LiveSessions, episode: Episode, step: int, value: float, source: str | None, pointer: str
) -> StepClaim:
    """What the reward is worth inside, and whether it can still be learned."""
    try:
        worth = live.blueprint.reward.scaled(value, episode.told(step))
    except InvalidInput as problem:
        raise InvalidInput(pointer, problem.rule) from None
    outcome = "ignored" if live.mode == "frozen" else "late" if episode.deadline is None else "pending"
    return StepClaim(step, source, StepRewardRecord(value, outcome, worth))


def log_reward(live: LiveSessions, transaction: Transaction, episode: Episode, claim: StepClaim, now: int) -> int:
    """The position it was given."""
    live.position += 1
    live.tally.count(claim.record.outcome)
    name, about = event_id("r", episode.id, claim.step), episode.start.position
    transaction.append(live.id, Event(live.position, "reward", name, now, claim.source, about, pack(claim.record)))
    return live.position


def _weight(record: LearnedRecord, step: int) -> float | None:
    """How much the step was allowed to move the learner; None if it was not learned."""
    return record.weights[record.steps.index(step)] if step in record.steps else None
