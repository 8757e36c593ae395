"""The use case "decide": encode outside the transaction, decide and log inside it, answer after the commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from holdfast.arrays import Array
from holdfast.errors import Conflict, HoldfastError, InvalidInput, Unavailable
from holdfast.features import Encoder
from holdfast.hosting.live import LiveBandit, LiveLearner
from holdfast.hosting.operation import Needs, runs_of_strangers
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
    place: str = ""  # a pointer to it in the request


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

    acts_on: ClassVar[type] = LiveBandit

    learner: str
    questions: Sequence[Question]
    encoder: Encoder | None = None  # that φ was made with

    @property
    def size(self) -> int:
        return len(self.questions)

    def needs(self, live: LiveLearner) -> Needs:
        return Needs(events=[decision_event_id(name) for name in self.given()])

    def given(self) -> list[str]:
        """The ids that the caller chose."""
        return [question.decision_id for question in self.questions if question.given]

    @classmethod
    def perform_all(
        cls, operations: Sequence["Decide"], live: LiveBandit, transaction: Transaction, now: int
    ) -> list[list[Answered] | HoldfastError]:
        answers: list[list[Answered] | HoldfastError] = []
        for run in runs_of_strangers(operations, Decide.given):
            answers += _answer_run(run, live, transaction, now)
        return answers


def _answer_run(
    run: list[Decide], live: LiveBandit, transaction: Transaction, now: int
) -> list[list[Answered] | HoldfastError]:
    """Operations that share no decision: what is new in all of them is decided together."""
    plans = [_plan(operation, live, transaction) for operation in run]
    new = [question for plan in plans if isinstance(plan, _Plan) for question in plan.new.values()]
    made = {answered.decision_id: answered for answered in _decide_all(live, transaction, new, now)}
    return [_fill(plan, made) if isinstance(plan, _Plan) else plan for plan in plans]


class _Plan(NamedTuple):
    """What an operation asks for, what of it was answered before, and what is new."""

    questions: Sequence[Question]
    repeats: dict[str, Answered]
    new: dict[str, Question]


def _plan(operation: Decide, live: LiveBandit, transaction: Transaction) -> _Plan | HoldfastError:
    if live.paused:
        return Conflict("paused", "the learner is paused")
    if operation.encoder is not None and operation.encoder != live.blueprint.encoder:
        return Unavailable("the learner was replaced a moment ago; ask again")
    plan = _Plan(operation.questions, {}, {})
    try:
        for question in operation.questions:
            repeat = _repeat(live, transaction, question) if question.given else None
            if repeat is not None:
                plan.repeats[question.decision_id] = repeat
            elif plan.new.setdefault(question.decision_id, question).request != question.request:
                raise _other_content(question)
    except HoldfastError as problem:
        return problem
    return plan


def _fill(plan: _Plan, made: dict[str, Answered]) -> list[Answered]:
    return [plan.repeats.get(q.decision_id) or made[q.decision_id] for q in plan.questions]


def _repeat(live: LiveBandit, transaction: Transaction, question: Question) -> Answered | None:
    """The first answer again, if this id has one for the same content."""
    found = transaction.find(live.id, decision_event_id(question.decision_id))
    if found is None:
        return None
    record = unpack_decision(found.event.payload)
    if record.request != question.request:
        raise _other_content(question)
    decision = replayed(record, live.blueprint.bandit, found.event.position)
    return Answered(question.decision_id, record.ids, decision, found.event.position)


def _other_content(question: Question) -> Conflict:
    pointer = f"{question.place}/decision_id"
    return Conflict("decision-exists", "this decision_id was used with another content", pointer)


def _decide_all(live: LiveBandit, transaction: Transaction, questions: Sequence[Question], now: int) -> list[Answered]:
    """Decide and log, at the next positions."""
    if not questions:
        return []
    first = live.position + 1
    options, tops = [question.phi for question in questions], [question.top for question in questions]
    decisions = modes.decide_all(live.mode, live.blueprint.bandit, live.state, options, first, tops)
    deadline = now + int(live.blueprint.wait_s * MICROSECONDS)
    answers = []
    for position, (question, decision) in enumerate(zip(questions, decisions, strict=True), first):
        payload = pack(_record(live, question, decision))
        event = Event(position, "decision", decision_event_id(question.decision_id), now, None, None, payload)
        live.open.remember(transaction.append(live.id, event, deadline))
        answers.append(Answered(question.decision_id, question.ids, decision, position))
    live.position += len(questions)
    live.tally.decisions += len(questions)
    return answers


def _record(live: LiveBandit, question: Question, decision: Decision) -> DecisionRecord:
    shown = shown_indexes(decision, question.top)
    phi = question.phi[decision.chosen] if question.top == 1 else question.phi[shown]
    return DecisionRecord(
        ids=question.ids,
        mean=decision.mean.tobytes(),
        bonus=decision.bonus.tobytes(),
        shown=shown,
        phi=phi.tobytes(),
        request=question.request,
        mode=live.mode,
    )


def shown_indexes(decision: Decision, top: int) -> list[int]:
    """The chosen one, then the next best, `top` in all."""
    if top == 1:
        return [decision.chosen]
    rest = [int(i) for i in decision.order if i != decision.chosen]
    return [decision.chosen, *rest[: top - 1]]


def check_top(top: int, candidates: int) -> None:
    if not 1 <= top <= candidates:
        raise InvalidInput("/top", "must be from 1 to the number of actions")
