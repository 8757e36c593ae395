"""The use case "step": what to do in this state of an episode, and, on the way, what the step before was worth."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from holdfast.arrays import Array
from holdfast.errors import Conflict, InvalidInput
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.operation import Needs, OneByOne
from holdfast.hosting.sessions.episode import Episode, find_episode, refuse_if_over, refuse_if_paused
from holdfast.hosting.sessions.live import LiveSessions
from holdfast.hosting.sessions.records import StepRecord, event_id, pack, shown_arrays, unpack
from holdfast.hosting.sessions.reward import StepClaim, log_reward, settled_claim
from holdfast.learners import Decision, Ranking
from holdfast.learners.mdp.learner import LENGTH_MAX
from holdfast.learners.modes import answered, as_mode
from holdfast.store.log import Event, Transaction

__all__ = ["LENGTH_MAX", "Step", "StepAnswered", "StepQuestion", "check_size"]

STEP_NUMBERS_MAX = 2**18  # all candidates' features of one step: 2 MB in the log
EPISODE_NUMBERS_MAX = 2**22  # of all its steps


class StepQuestion(NamedTuple):
    """One step as asked for, encoded."""

    episode_id: str
    ids: list[str]
    phi: Array  # (K, d)
    reward: float | None  # of the step before
    source: str | None  # who says so
    step: int | None  # which one the caller believes it is
    request: bytes  # digest of the content


class StepAnswered(NamedTuple):
    """One step as made."""

    episode_id: str
    step: int
    ids: list[str]
    decision: Decision
    position: int

    @property
    def ranking(self) -> Ranking:
        return self.decision.ranking()


def check_size(candidates: int, dimension: int, length: int) -> None:
    """Every candidate's features are logged, because the step before led to them; so they are bounded."""
    most = min(STEP_NUMBERS_MAX, EPISODE_NUMBERS_MAX // length)
    if candidates * dimension > most:
        raise InvalidInput("/actions", f"a step may have {most // dimension:,} actions at most")


@dataclass(frozen=True)
class Step(OneByOne):
    """The next step of an episode."""

    acts_on: ClassVar[type] = LiveSessions

    learner: str
    question: StepQuestion

    @property
    def bytes_held(self) -> int:
        return self.question.phi.nbytes

    def needs(self, live: LiveLearner) -> Needs:
        asked = self.question
        earlier = [] if asked.step is None else [event_id("s", asked.episode_id, asked.step)]
        return Needs(events=earlier, said=[event_id("e", asked.episode_id)])

    def perform(self, live: LiveSessions, transaction: Transaction, now: int) -> StepAnswered:
        refuse_if_paused(live)
        asked = self.question
        episode = find_episode(live, transaction, asked.episode_id)
        number = episode.steps + 1
        if asked.step is not None and asked.step <= episode.steps:
            return _repeat(live, transaction, asked, asked.step)
        if asked.step is not None and asked.step != number:
            raise Conflict("step-order", f"step {number} comes next")
        refuse_if_over(episode, now)
        if number > live.mdp.length:
            raise Conflict("episode-complete", f"the episode has all its {live.mdp.length} steps")
        claim = _claim_before(live, episode, asked)
        position = live.position + (1 if claim is None else 2)
        decision = answered(live.mode, live.mdp.decide(live.state, number, asked.phi, position))
        if claim is not None:
            log_reward(live, transaction, episode, claim, now)
        _log(live, transaction, episode, asked, number, decision, now)
        return StepAnswered(asked.episode_id, number, asked.ids, decision, live.position)


def _claim_before(live: LiveSessions, episode: Episode, asked: StepQuestion) -> StepClaim | None:
    """The reward of the step before that came along, unless it is known already."""
    if asked.reward is None:
        return None
    if episode.steps == 0:
        raise InvalidInput("/reward", "there is no step before the first")
    told = episode.rewards.get(episode.steps)
    if told is None:
        return settled_claim(live, episode, episode.steps, asked.reward, asked.source, "/reward")
    if told.value != asked.reward:
        raise Conflict("reward-exists", "the step before was rewarded with another value")
    return None


def _repeat(live: LiveSessions, transaction: Transaction, asked: StepQuestion, number: int) -> StepAnswered:
    """The first answer again, if the content is the same."""
    name = event_id("s", asked.episode_id, number)
    transaction.look_up(live.id, [name])
    found = transaction.find(live.id, name)
    assert found is not None, "steps have no gap"
    record = unpack(found.event.payload, StepRecord)
    if record.request != asked.request:
        raise Conflict("step-exists", f"step {number} was taken with another content")
    mean, bonus = shown_arrays(record)
    ranked = live.mdp.rank(number, mean, bonus, found.event.position)
    decision = answered(as_mode(record.mode), ranked)
    return StepAnswered(asked.episode_id, number, record.ids, decision, found.event.position)


def _log(
    live: LiveSessions,
    transaction: Transaction,
    episode: Episode,
    asked: StepQuestion,
    number: int,
    decision: Decision,
    now: int,
) -> None:
    live.position += 1
    live.tally.decisions += 1
    record = StepRecord(
        ids=asked.ids,
        mean=decision.mean.tobytes(),
        bonus=decision.bonus.tobytes(),
        shown=decision.chosen,
        phi=asked.phi.tobytes(),
        request=asked.request,
        mode=live.mode,
    )
    name = event_id("s", asked.episode_id, number)
    transaction.append(live.id, Event(live.position, "step", name, now, None, episode.start.position, pack(record)))
