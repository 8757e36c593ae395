"""What callers send: decisions with ids of their own, rewards that come again, out of order or in contradiction.

What is sent follows from the seed and a decision's number alone; the threads only settle in which order.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, NamedTuple

import httpx

REPEAT_EVERY_S = 0.02
ANSWERED_WITHIN_S = 30.0
FOLLOW_UP_SHARE = 0.6  # more than follow-ups are made, so that they do not pile up
MADE, SETTLED, REFUSED = 201, 200, 409


class Call(NamedTuple):
    """One request, and the answers that the contract allows."""

    learner: str
    number: int
    route: str
    body: dict[str, Any]
    allowed: tuple[int, ...]


class Answer(NamedTuple):
    """What came back for a call; status 0 if nothing ever did."""

    call: Call
    status: int
    body: dict[str, Any]
    attempts: int


def first_question(seed: int, learner: str, number: int) -> Call:
    """The decision of this number."""
    rng = Random(f"{seed}/{learner}/{number}/question")
    actions = [{"id": f"a{i}", "features": [round(rng.random(), 3)]} for i in range(3)]
    body = {"decision_id": f"{number}", "context": [round(rng.random(), 3) for _ in range(2)], "actions": actions}
    return Call(learner, number, "decisions", body, (MADE,))


def follow_ups(seed: int, question: Call) -> list[Call]:
    """What is sent once the decision is made: nothing, a reward, more of it, the question again or another one."""
    rng = Random(f"{seed}/{question.learner}/{question.number}/follow-ups")
    calls: list[Call] = []
    rewarded, repeated, contradicted, asked_again, asked_otherwise = (rng.random() for _ in range(5))
    value = round(0.6 * rng.random(), 3)  # a contradiction says 1
    claim = {"decision_id": f"{question.number}", "value": value, "source": f"s{rng.randrange(3)}"}
    other = claim | {"value": 1.0}
    claims = [claim] * (1 + (repeated < 0.2)) + [other] * (contradicted < 0.15)
    if rewarded < 0.85:
        allowed = (SETTLED, REFUSED) if other in claims else (SETTLED,)
        calls += [Call(question.learner, question.number, "rewards", body, allowed) for body in claims]
    if asked_again < 0.1:
        calls.append(question)
    if asked_otherwise < 0.05:
        calls.append(question._replace(body=question.body | {"context": [2.0, -2.0]}, allowed=(REFUSED,)))
    return calls


@dataclass
class Ledger:
    """What the callers know: everything they sent to each learner, and every answer they got."""

    sent: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))

    def acknowledged(self) -> int:
        return sum(answer.status in (MADE, SETTLED) for answers in self.answers.values() for answer in answers)

    def repeated(self) -> int:
        """Calls whose first attempt had no answer: it may or may not have taken effect."""
        return sum(answer.attempts > 1 for answers in self.answers.values() for answer in answers)


class Load:
    """The calls still to be made to some learners, shared by all threads."""

    def __init__(self, seed: int, learners: list[str]) -> None:
        self.learners = learners
        self.ledger = Ledger()
        self._seed = seed
        self._owed: list[Call] = []
        self._numbers = count()
        self._followed: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def take(self, rng: Random) -> Call:
        """A call to make now: any that is owed, or a new decision."""
        with self._lock:
            if self._owed and rng.random() < FOLLOW_UP_SHARE:
                call = self._owed.pop(rng.randrange(len(self._owed)))
            else:
                call = first_question(self._seed, rng.choice(self.learners), next(self._numbers))
            self.ledger.sent[call.learner].append(call)
            return call

    def note(self, answer: Answer) -> None:
        """Write an answer down; a decision that is made for the first time has follow-ups."""
        call = answer.call
        with self._lock:
            self.ledger.answers[call.learner].append(answer)
            if answer.status == MADE and (call.learner, call.number) not in self._followed:
                self._followed.add((call.learner, call.number))
                self._owed.extend(follow_ups(self._seed, call))


def ask_until_answered(ask: Callable[[], httpx.Response]) -> tuple[httpx.Response | None, int]:
    """Repeat what has no answer, or only 503, until it has one; the answer, and how often it took asking."""
    deadline, attempts = time.monotonic() + ANSWERED_WITHIN_S, 0
    while time.monotonic() < deadline:
        attempts += 1
        try:
            response = ask()
        except httpx.TransportError:
            time.sleep(REPEAT_EVERY_S)
            continue
        if response.status_code != 503:
            return response, attempts
        time.sleep(REPEAT_EVERY_S)
    return None, attempts


def call_until_told_to_stop(load: Load, http: httpx.Client, rng: Random, calls_max: int, told: threading.Event) -> None:
    """One caller's thread; it ends with every call of its own answered."""
    for _ in range(calls_max):
        if told.is_set():
            return
        load.note(_made(load.take(rng), http))


def _made(call: Call, http: httpx.Client) -> Answer:
    path = f"/v1/learners/{call.learner}/{call.route}"
    response, attempts = ask_until_answered(lambda: http.post(path, json=call.body))
    if response is None:
        return Answer(call, 0, {}, attempts)
    return Answer(call, response.status_code, response.json(), attempts)
