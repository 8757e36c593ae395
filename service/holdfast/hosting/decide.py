"""The use case "decide": encode outside the transaction, decide and log inside it, answer after the commit.

Whatever is asked for in one transaction is decided together, so questions and decisions are columns here: a list or an
array for each thing to be known of them. Objects for each would have to be made and taken apart again at every step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import ClassVar, NamedTuple

import numpy as np

from holdfast.arrays import Array, cuts
from holdfast.errors import Conflict, HoldfastError, InvalidInput, Unavailable
from holdfast.features import Encoder
from holdfast.hosting.live import LiveBandit, LiveLearner
from holdfast.hosting.operation import NOTHING, Needs, runs_of_strangers
from holdfast.hosting.records import pack_decisions, replayed, unpack_decision
from holdfast.learners import Decisions, Ranking, modes
from holdfast.learners.modes import Mode
from holdfast.store.bulk import Alike
from holdfast.store.log import Transaction

MICROSECONDS = 1_000_000
NUMBER_BYTES = 8
MANY = 16  # decisions of one operation, from which on it is worth while to tell them late (`Untold`)
REPLACED = "the learner was replaced a moment ago; ask again"
NEVER_ASKED = b""  # an id of our own: no caller can have asked for it before


class Questions(NamedTuple):
    """Decisions as asked for, encoded. An id that the caller chose comes with a digest of the content: it may be a
    repeat.
    """

    decision_ids: list[str]
    ids: list[list[str]]  # of the candidates of each
    phi: Array  # (ΣK, d), of the candidates of all of them
    tops: list[int]
    digests: list[bytes]
    place: str | None = None  # a pointer to the only one in the request; of a batch, `place_of`

    @staticmethod
    def place_of(index: int) -> str:
        """A pointer to one of a batch in the request."""
        return f"/decisions/{index}"

    def only(self, indexes: Sequence[int]) -> "Questions":
        """Some of them."""
        places = list(cuts(map(len, self.ids)))
        rows = [np.arange(*places[index]) for index in indexes]
        return Questions(
            [self.decision_ids[index] for index in indexes],
            [self.ids[index] for index in indexes],
            self.phi[np.concatenate(rows)] if rows else self.phi[:0],
            [self.tops[index] for index in indexes],
            [self.digests[index] for index in indexes],
            self.place,
        )


def joined(parts: Sequence[Questions]) -> Questions:
    """One after the other; where each was asked for is of no more interest."""
    if len(parts) == 1:
        return parts[0]
    return Questions(
        [name for part in parts for name in part.decision_ids],
        [ids for part in parts for ids in part.ids],
        np.concatenate([part.phi for part in parts]),
        [top for part in parts for top in part.tops],
        [digest for part in parts for digest in part.digests],
    )


class Answered(NamedTuple):
    """One decision as made."""

    decision_id: str
    ids: list[str]
    position: int
    ranking: Ranking


@dataclass(frozen=True)
class Untold:
    """Many as made, put into plain values when somebody wants them: those that were made before a commit are no longer
    in the processor's cache after it, and to fetch them takes longer than to make them.
    """

    decision_ids: list[str]
    ids: list[list[str]]  # of the candidates of each
    first: int  # position
    decisions: Decisions

    def __iter__(self) -> Iterator[Answered]:
        return map(Answered, self.decision_ids, self.ids, count(self.first), self.decisions.rankings())

    def ranked(self) -> tuple[list[str], list[float], list[float], list[float], list[float]]:
        """Id, score, mean, bonus and probability of each candidate of all of them, as they are to be shown."""
        made, places, ids = self.decisions, self.decisions.places(), list(chain.from_iterable(self.ids))
        numbers = np.array((made.score, made.mean, made.bonus, made.probability)).take(places, axis=1)
        return [ids[place] for place in places.tolist()], *numbers.tolist()


Answers = list[Answered] | Untold  # a list if there are not many


def decision_event_id(decision_id: str) -> str:
    return f"d/{decision_id}"


@dataclass(frozen=True)
class Decide:
    """One or more decisions of one learner; all or none."""

    acts_on: ClassVar[type] = LiveBandit

    learner: str
    questions: Questions
    encoder: Encoder | None = None  # that φ was made with, if that may be another than the learner's

    @property
    def size(self) -> int:
        return len(self.questions.decision_ids)

    @property
    def bytes_held(self) -> int:
        return self.questions.phi.nbytes

    def needs(self, live: LiveLearner) -> Needs:
        given = self.given()
        return Needs(events=list(map(decision_event_id, given))) if given else NOTHING

    def given(self) -> list[str]:
        """The ids that the caller chose."""
        asked = self.questions
        if not any(asked.digests):
            return []
        return [name for name, digest in zip(asked.decision_ids, asked.digests, strict=True) if digest]

    @classmethod
    def perform_all(
        cls, operations: Sequence["Decide"], live: LiveBandit, transaction: Transaction, now: int
    ) -> list[Answers | HoldfastError]:
        answers: list[Answers | HoldfastError] = []
        for run in runs_of_strangers(operations, Decide.given):
            answers += _answer_run(run, live, transaction, now)
        return answers


def _answer_run(
    run: list[Decide], live: LiveBandit, transaction: Transaction, now: int
) -> list[Answers | HoldfastError]:
    """Operations that share no decision: what is new in all of them is decided together."""
    plans = [_plan(operation, live, transaction) for operation in run]
    new = [plan.new for plan in plans if isinstance(plan, _Plan) and plan.new.decision_ids]
    made = _decide_all(live, transaction, new, now) if new else iter(())
    return [_filled(plan, made) if isinstance(plan, _Plan) else plan for plan in plans]


class _Plan(NamedTuple):
    """What an operation asks for, what of it is new, and what was answered before."""

    asked: Questions
    new: Questions
    repeats: dict[str, Answered]


def _plan(operation: Decide, live: LiveBandit, transaction: Transaction) -> _Plan | HoldfastError:
    if live.paused:
        return Conflict("paused", "the learner is paused")
    if not live.is_encoded_by(operation.encoder):
        return Unavailable(REPLACED)
    asked = operation.questions
    if not any(asked.digests):
        return _Plan(asked, asked, {})
    repeats: dict[str, Answered] = {}
    new: dict[str, int] = {}
    try:
        for index, (name, digest) in enumerate(zip(asked.decision_ids, asked.digests, strict=True)):
            repeated = _repeat(live, transaction, asked, index) if digest else None
            if repeated is not None:
                repeats[name] = repeated
            elif asked.digests[new.setdefault(name, index)] != digest:
                raise _other_content(asked, index)
    except HoldfastError as problem:
        return problem
    return _Plan(asked, asked if len(new) == len(asked.ids) else asked.only(list(new.values())), repeats)


def _filled(plan: _Plan, made: Iterator[Answers]) -> Answers:
    """The answers of one operation: the next that were made, and what was answered before."""
    if plan.new is plan.asked:
        return next(made)
    answers = next(made) if plan.new.decision_ids else []
    known = plan.repeats | {answer.decision_id: answer for answer in answers}
    return [known[name] for name in plan.asked.decision_ids]


def _repeat(live: LiveBandit, transaction: Transaction, asked: Questions, index: int) -> Answered | None:
    """The first answer again, if this id has one for the same content."""
    name = asked.decision_ids[index]
    found = transaction.find(live.id, decision_event_id(name))
    if found is None:
        return None
    record = unpack_decision(found.event.payload)
    if record.request != asked.digests[index]:
        raise _other_content(asked, index)
    decision = replayed(record, live.blueprint.bandit, found.event.position)
    return Answered(name, record.ids, found.event.position, decision.ranking())


def _other_content(asked: Questions, index: int) -> Conflict:
    place = Questions.place_of(index) if asked.place is None else asked.place
    return Conflict("decision-exists", "this decision_id was used with another content", f"{place}/decision_id")


def _decide_all(live: LiveBandit, transaction: Transaction, parts: Sequence[Questions], now: int) -> Iterator[Answers]:
    """Decide and log, at the next positions; the answers to each part."""
    asked = joined(parts)
    first, counts = live.position + 1, list(map(len, asked.ids))
    decisions = modes.decide_all(live.mode, live.blueprint.bandit, live.state, asked.phi, counts, first, asked.tops)
    names, payloads = list(map(decision_event_id, asked.decision_ids)), _payloads(live.mode, asked, decisions)
    deadline = now + int(live.blueprint.wait_s * MICROSECONDS)
    live.open.remember(transaction.append_alike(Alike(live.id, first, "decision", now, names, payloads, deadline)))
    live.position += len(counts)
    live.tally.decisions += len(counts)
    return _answers(Untold(asked.decision_ids, asked.ids, first, decisions), [len(part.ids) for part in parts])


def _answers(made: Untold, sizes: Sequence[int]) -> Iterator[Answers]:
    """The first so many of them, then the next."""
    if max(sizes) < MANY:  # told together
        told = iter(made)
        return (list(islice(told, size)) for size in sizes)
    parts = zip(cuts(sizes), made.decisions.parts(sizes), strict=True)
    each = (Untold(made.decision_ids[a:b], made.ids[a:b], made.first + a, part) for (a, b), part in parts)
    return (some if size >= MANY else list(some) for some, size in zip(each, sizes, strict=True))


def _payloads(mode: Mode, asked: Questions, decisions: Decisions) -> list[bytes]:
    """What the log keeps of each."""
    shown = _shown(asked.tops, decisions)
    places = zip(cuts(decisions.counts), shown, strict=True)
    rows = [start + index for (start, _), some in places for index in some]
    width = asked.phi.shape[1]
    return pack_decisions(
        asked.ids,
        _pieces(decisions.mean, decisions.counts),
        _pieces(decisions.bonus, decisions.counts),
        shown,
        _pieces(asked.phi.take(rows, axis=0), [width * len(some) for some in shown]),
        asked.digests,
        [mode] * len(shown),
    )


def _pieces(numbers: Array, lengths: Sequence[int]) -> list[bytes]:
    """The bytes of so many numbers each."""
    whole, each = numbers.tobytes(), NUMBER_BYTES * lengths[0]
    if len(whole) == each:
        return [whole]
    if min(lengths) == max(lengths):
        return [whole[start : start + each] for start in range(0, len(whole), each)]
    return [whole[start:end] for start, end in cuts([NUMBER_BYTES * length for length in lengths])]


def _shown(tops: list[int], decisions: Decisions) -> list[list[int]]:
    """Of each the chosen one, then the next best, `top` in all."""
    if set(tops) == {1}:
        return [[chosen] for chosen in decisions.chosen]
    return [
        [chosen, *islice((i for i in order if i != chosen), top - 1)]
        for chosen, order, top in zip(decisions.chosen, decisions.orders(), tops, strict=True)
    ]


def check_top(top: int, candidates: int) -> None:
    if not 1 <= top <= candidates:
        raise InvalidInput("/top", "must be from 1 to the number of actions")
