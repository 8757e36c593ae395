"""The end of an episode: what is known of it is learned, and that is an event in the log, whatever brought it about."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from holdfast.arrays import Array
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import Needs, OneByOne
from holdfast.hosting.sessions.episode import (
    Episode,
    find_episode,
    last_candidates,
    refuse_if_over,
    refuse_if_paused,
)
from holdfast.hosting.sessions.live import LiveSessions
from holdfast.hosting.sessions.records import (
    FinishRecord,
    LearnedRecord,
    StepRecord,
    event_id,
    pack,
    transitions,
    unpack,
)
from holdfast.store.log import Event, Transaction


def close(live: LiveSessions, transaction: Transaction, episode: Episode, reason: str, now: int) -> LearnedRecord:
    """Learn what is known, log it, and let the episode wait no more."""
    names = [event_id("s", episode.id, step) for step in range(1, episode.steps + 1)]
    transaction.look_up(live.id, names)
    found = [transaction.find(live.id, name) for name in names]
    steps = [unpack(one.event.payload, StepRecord) for one in found if one is not None]
    finish = None if episode.finish is None else unpack(episode.finish.payload, FinishRecord)
    planned = _known(live, episode, finish, reason)
    weights = live.learn(transitions(planned, steps, finish))
    record = LearnedRecord(
        planned.reason, planned.taken, planned.told, planned.steps, planned.rewards, weights, planned.defaulted,
        planned.ended,
    )  # fmt: skip
    live.close(record)
    live.position += 1
    name = event_id("l", episode.id)
    transaction.append(live.id, Event(live.position, "learned", name, now, None, episode.start.position, pack(record)))
    transaction.settle(live.id, episode.start)
    return record


def _known(live: LiveSessions, episode: Episode, finish: FinishRecord | None, reason: str) -> LearnedRecord:
    """Which steps can be learned, and with which rewards; the weights are still to come.

    A step can be learned when its reward is there and what followed was seen. After the last step nothing is earned if
    the caller finished there or no step was left; if the caller just went away, nobody knows.
    """
    mdp, rule, taken = live.mdp, live.blueprint.reward, episode.steps
    ended = finish is not None and taken < mdp.length
    rewards: dict[int, float] = {}
    defaulted: list[int] = []
    for step in range(1, taken + 1) if live.mode != "frozen" else ():
        told = episode.rewards.get(step)
        if told is not None and told.outcome == "pending":
            rewards[step] = told.reward
        elif told is None:
            beside = [*episode.told(step), *(rewards[other] for other in defaulted)]
            if (silence := rule.silence(beside)) is not None:
                rewards[step] = silence
                defaulted.append(step)
    if taken in rewards and ended:
        others = [reward for step, reward in rewards.items() if step != taken]
        rewards[taken] += rule.padding(mdp.length - taken, [*others, rewards[taken]])
    is_told = finish is not None and finish.following != b""  # what the last state led to, where steps share a model
    is_seen = ended or (taken == mdp.length and (is_told or not mdp.stationary))
    learned = [step for step in rewards if step < taken or is_seen]
    return LearnedRecord(
        reason, taken, len(episode.rewards), learned, [rewards[step] for step in learned], [],
        [step for step in defaulted if step in learned], ended,
    )  # fmt: skip


def close_if_complete(live: LiveSessions, transaction: Transaction, episode: Episode, now: int) -> LearnedRecord | None:
    if episode.deadline is None or not episode.is_complete(live.mdp):
        return None
    reason = "complete" if episode.finish is None else "finished"
    return close(live, transaction, episode, reason, now)


def close_late(live: LiveSessions, transaction: Transaction, episode: Episode, now: int) -> None:
    live.expiries += 1
    close(live, transaction, episode, "timeout", now)


def time_out(live: LiveSessions, transaction: Transaction, starts: list[Event], now: int) -> None:
    """Close episodes whose time has run out."""
    for start in starts:
        transaction.look_up(live.id, [start.event_id])
        episode = find_episode(live, transaction, start.event_id.removeprefix("e/"))
        if episode.deadline is not None:
            close_late(live, transaction, episode, now)


class Finished(NamedTuple):
    episode_id: str
    steps: int
    outcome: str  # learned, pending or ignored
    position: int


@dataclass(frozen=True)
class Finish(OneByOne):
    """Nothing more will be done in this episode; rewards may still come. Saying so again changes nothing."""

    acts_on: ClassVar[type] = LiveSessions

    learner: str
    episode_id: str
    following: Array | None  # (K, d) candidates of the last state

    def needs(self, live: LiveLearner) -> Needs:
        return Needs(said=[event_id("e", self.episode_id)])

    def perform(self, live: LiveSessions, transaction: Transaction, now: int) -> Finished:
        refuse_if_paused(live)
        episode = find_episode(live, transaction, self.episode_id)
        if episode.finish is None and not self._is_learned_to_the_end(live, episode):
            refuse_if_over(episode, now)
            live.position += 1
            name, about = event_id("f", episode.id), episode.start.position
            payload = pack(FinishRecord(last_candidates(live, episode, self.following)))
            transaction.append(live.id, Event(live.position, "finish", name, now, None, about, payload))
            close_if_complete(live, transaction, find_episode(live, transaction, self.episode_id), now)
            episode = find_episode(live, transaction, self.episode_id)
        last = episode.learned or episode.finish
        assert last is not None
        return Finished(self.episode_id, episode.steps, _outcome(episode), last.position)

    @staticmethod
    def _is_learned_to_the_end(live: LiveSessions, episode: Episode) -> bool:
        """Whether all steps were taken and learned: then there is nothing to finish, and nothing wrong.

        Where steps share a model the last one was left out, and a finish that could have told what it led to is late.
        """
        return episode.learned is not None and episode.steps == live.mdp.length and not live.mdp.stationary


def _outcome(episode: Episode) -> str:
    if episode.learned is None:
        return "pending"
    return "learned" if unpack(episode.learned.payload, LearnedRecord).steps else "ignored"
