"""The use case "decide": encode outside the transaction, decide and log inside it, answer after the commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.arrays import Array
from holdfast.errors import Conflict, InvalidInput
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.records import DecisionRecord, pack, replayed, unpack_decision
from holdfast.learners import Decision, modes
from holdfast.store.log import Event, Transaction

MICROSECONDS = 1_000_000


class Question(NamedTuple):
    """One decision as asked for, encoded."""

    decision_id: str
    ids: list[str]
    phi: Array  # (K, d)
    top: int
    request: bytes  # digest of the content
    given: bool  # whether the caller chose the id, so that it may be a repeat


class Answered(NamedTuple):
    """One decision as made."""

    decision_id: str
    ids: list[str]
    decision: Decision
    position: int


def decision_event_id(decision_id: str) -> str:
    return f"d/{decision_id}"


@dataclass(frozen=True)
class Decide:
    """One or more decisions of one learner; all or none."""

    learner: str
    questions: Sequence[Question]

    def event_ids(self) -> list[str]:
        return [decision_event_id(q.decision_id) for q in self.questions if q.given]

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> list[Answered]:
        if live.paused:
            raise Conflict("paused", "the learner is paused")
        repeats = [self._repeat(live, transaction, question) for question in self.questions]
        return [
            repeat or self._decide(live, transaction, question, now)
            for question, repeat in zip(self.questions, repeats, strict=True)
        ]

    def _repeat(self, live: LiveLearner, transaction: Transaction, question: Question) -> Answered | None:
        """The first answer again, if this id has one for the same content."""
        found = transaction.find(live.id, decision_event_id(question.decision_id)) if question.given else None
        if found is None:
            return None
        record = unpack_decision(found.event.payload)
        if record.request != question.request:
            raise Conflict("decision-exists", "this decision_id was used with another content")
        decision = replayed(record, live.blueprint.bandit, found.event.position)
        return Answered(question.decision_id, record.ids, decision, found.event.position)

    def _decide(self, live: LiveLearner, transaction: Transaction, question: Question, now: int) -> Answered:
        position = live.position + 1
        decision = modes.decide(live.mode, live.blueprint.bandit, live.state, question.phi, position, question.top)
        shown = shown_indexes(decision, question.top)
        record = DecisionRecord(
            ids=question.ids,
            mean=decision.mean.tobytes(),
            bonus=decision.bonus.tobytes(),
            shown=shown,
            phi=question.phi[shown].tobytes(),
            request=question.request,
            mode=live.mode,
        )
        event = Event(position, "decision", decision_event_id(question.decision_id), now, None, None, pack(record))
        transaction.append(live.id, event)
        transaction.wait(live.id, event, now + int(live.blueprint.wait_s * MICROSECONDS))
        live.position = position
        live.tally = live.tally.counting("decisions")
        return Answered(question.decision_id, question.ids, decision, position)


def shown_indexes(decision: Decision, top: int) -> list[int]:
    """The chosen one, then the next best, `top` in all."""
    if top == 1:
        return [decision.chosen]
    rest = [int(i) for i in decision.order if i != decision.chosen]
    return [decision.chosen, *rest[: top - 1]]


def check_top(top: int, candidates: int) -> None:
    if not 1 <= top <= candidates:
        raise InvalidInput("/top", "must be from 1 to the number of actions")
