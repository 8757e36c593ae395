"""An episode as the log tells it, and the two things that begin and end one by request."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from holdfast.arrays import Array
from holdfast.errors import Conflict, NotFound
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import Needs, OneByOne
from holdfast.hosting.sessions.live import LiveSessions
from holdfast.hosting.sessions.records import EpisodeRecord, StepRewardRecord, event_id, number_of, pack, unpack
from holdfast.learners.mdp import Mdp
from holdfast.store.log import Event, Transaction

MICROSECONDS = 1_000_000


class Episode(NamedTuple):
    """What was said so far. It is closed once what is known of it was learned."""

    id: str
    start: Event
    deadline: int | None  # None when it is closed
    steps: int
    rewards: dict[int, StepRewardRecord]
    reward_positions: dict[int, int]
    finish: Event | None
    learned: Event | None

    def is_complete(self, mdp: Mdp[Any]) -> bool:
        """Whether nothing is still to come: no step, no reward, nor the finish that may tell what the last led to."""
        is_over = self.finish is not None or (self.steps == mdp.length and not mdp.stationary)
        return is_over and len(self.rewards) == self.steps

    def told(self, besides: int) -> list[float]:
        """The rewards of the other steps, inside."""
        return [record.reward for step, record in self.rewards.items() if step != besides]


def find_episode(live: LiveSessions, transaction: Transaction, episode_id: str) -> Episode:
    found = transaction.find(live.id, event_id("e", episode_id))
    if found is None:
        raise NotFound("episode", "no such episode")
    said = transaction.said(live.id, found.event.position)
    rewards = {number_of(event.event_id): event for event in said if event.kind == "reward"}
    ends = {event.kind: event for event in said if event.kind in ("finish", "learned")}
    return Episode(
        episode_id,
        found.event,
        found.deadline,
        sum(event.kind == "step" for event in said),
        {step: unpack(event.payload, StepRewardRecord) for step, event in rewards.items()},
        {step: event.position for step, event in rewards.items()},
        ends.get("finish"),
        ends.get("learned"),
    )


def refuse_if_paused(live: LiveSessions) -> None:
    if live.paused:
        raise Conflict("paused", "the learner is paused")


def refuse_if_over(episode: Episode, now: int) -> None:
    """Nothing can be added to an episode that is over, nor to one whose time has just run out."""
    if episode.finish is not None:
        raise Conflict("episode-finished", "the episode was finished")
    if episode.deadline is None or episode.deadline <= now:
        raise Conflict("episode-over", "the episode is over: it was learned, or its time ran out")


class Begun(NamedTuple):
    episode_id: str
    episode_length: int
    position: int


@dataclass(frozen=True)
class Begin(OneByOne):
    """A new episode; the same id again is the same episode."""

    acts_on: ClassVar[type] = LiveSessions

    learner: str
    episode_id: str
    given: bool  # whether the caller chose the id, so that it may be a repeat

    def needs(self, live: LiveLearner) -> Needs:
        return Needs(events=[event_id("e", self.episode_id)] if self.given else [])

    def perform(self, live: LiveSessions, transaction: Transaction, now: int) -> Begun:
        refuse_if_paused(live)
        name = event_id("e", self.episode_id)
        found = transaction.find(live.id, name)
        if found is not None:
            length = unpack(found.event.payload, EpisodeRecord).length
            return Begun(self.episode_id, length, found.event.position)
        live.position += 1
        live.tally.episodes += 1
        payload = pack(EpisodeRecord(live.mdp.length))
        deadline = now + int(live.blueprint.wait_s * MICROSECONDS)
        transaction.append(live.id, Event(live.position, "episode", name, now, None, None, payload), deadline)
        return Begun(self.episode_id, live.mdp.length, live.position)


def last_candidates(live: LiveSessions, episode: Episode, following: Array | None) -> bytes:
    """What a finish keeps of the last state: where steps share a model, the last step is learned from it."""
    is_wanted = following is not None and live.mdp.stationary and episode.steps == live.mdp.length
    return following.tobytes() if is_wanted and following is not None else b""
