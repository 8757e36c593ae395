"""The auditor: what the callers know against what the service says, learner by learner."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import httpx

from tests.acceptance.folding import fold, read_log
from tests.chaos.load import MADE, REFUSED, SETTLED, Answer, Ledger, ask_until_answered

Kind = Literal["lost", "double", "ghost", "gap", "state mismatch", "wrong answer"]
KINDS: tuple[Kind, ...] = ("lost", "double", "ghost", "gap", "state mismatch", "wrong answer")

NONE_SKIPPED = "holdfast_snapshots_skipped_total 0.0"


class Fault(NamedTuple):
    """A broken promise; the same one found twice is one."""

    kind: Kind
    learner: str
    what: str


Log = list[dict[str, Any]]


def audit(http: httpx.Client, learner: str, ledger: Ledger, when: str) -> set[Fault]:
    """Every fault of one learner; `when` tells state mismatches of different moments apart."""
    state, _ = ask_until_answered(lambda: http.get(f"/v1/learners/{learner}/state"))
    described, _ = ask_until_answered(lambda: http.get(f"/v1/learners/{learner}"))
    if state is None or described is None or state.status_code != 200 or described.status_code != 200:
        return {Fault("state mismatch", learner, f"{when}: the state cannot be had")}
    log = read_log(http, learner)
    answers, position = ledger.answers[learner], int(state.headers["Holdfast-Position"])
    folded = fold(described.json(), [event for event in log if event["position"] <= position])
    is_old = position < max((answer.body.get("position", 0) for answer in answers), default=0)
    faults: set[tuple[Kind, str]] = {*_gaps(log), *_lost(log, answers), *_doubles(log)}
    faults.update(_ghosts(log, ledger, learner), _wrong_answers(log, answers))
    if folded.state != state.content or not folded.agrees or is_old:
        faults.add(("state mismatch", when))
    if NONE_SKIPPED not in http.get("/metrics").text.splitlines():
        faults.add(("state mismatch", f"{when}: a snapshot was not of this log, or damaged"))
    return {Fault(kind, learner, what) for kind, what in faults}


Found = Iterator[tuple[Kind, str]]


def _gaps(log: Log) -> Found:
    for expected, event in enumerate(log, start=1):
        if event["position"] != expected:
            yield "gap", f"{event['position']} stands where {expected} should"
            return


def _lost(log: Log, answers: list[Answer]) -> Found:
    """What was acknowledged and is not in the log, at the position and with the content that the caller was told."""
    at = {event["position"]: event for event in log}
    for answer in answers:
        if answer.status not in (MADE, SETTLED):
            continue
        event, call = at.get(answer.body["position"]), answer.call
        if event is None or _told(event) != _heard(answer):
            yield "lost", f"{call.route} {call.body['decision_id']}"


def _told(event: dict[str, Any]) -> tuple[Any, ...]:
    """What the log says of an event, in the words of an answer."""
    if event["kind"] == "decision":
        return "decisions", event["decision_id"], event["action"]
    return f"{event['kind']}s", event["decision_id"], event.get("value"), event.get("weight")


def _heard(answer: Answer) -> tuple[Any, ...]:
    """What a caller was told."""
    call = answer.call
    if call.route == "decisions":
        return call.route, call.body["decision_id"], answer.body["action"]["id"]
    return call.route, call.body["decision_id"], call.body["value"], answer.body["weight"]


def _doubles(log: Log) -> Found:
    """Decisions made, rewarded, expired or learned more than once."""
    happened: Counter[tuple[str, Any]] = Counter()
    for event in log:
        about = event["decision_id"] if event["kind"] == "decision" else event["about"]
        happened[event["kind"], about] += 1
        rewards = [event["reward"]] if event["kind"] == "reward" else event.get("rewards", [])
        happened["learned", about] += sum(reward is not None for reward in rewards)
    for (kind, about), times in happened.items():
        if times > 1:
            yield "double", f"{kind} {about}"


def _ghosts(log: Log, ledger: Ledger, learner: str) -> Found:
    """Decisions and rewards that nobody sent, and expiries of decisions that are not there."""
    sent = {_signature(call.route, call.body) for call in ledger.sent[learner]}
    asked = {call.body["decision_id"] for call in ledger.sent[learner] if call.route == "decisions"}
    made: dict[int, str] = {}
    for event in log:
        if event["kind"] == "decision":
            made[event["position"]] = event["decision_id"]
            known = event["decision_id"] in asked
        else:
            known = made.get(event["about"]) == event["decision_id"]
            known = known and (event["kind"] == "expiry" or _signature("rewards", event) in sent)
        if not known:
            yield "ghost", f"{event['kind']} at {event['position']}"


def _signature(route: str, told: dict[str, Any]) -> tuple[Any, ...]:
    return route, told["decision_id"], told.get("value"), told.get("source")


def _wrong_answers(log: Log, answers: list[Answer]) -> Found:
    """Answers that the contract does not allow; a contradiction is refused only if the other reward is in the log."""
    values: dict[str, set[float | None]] = defaultdict(set)
    for event in log:
        if event["kind"] == "reward":
            values[event["decision_id"]].add(event["value"])
    for answer in answers:
        call, others = answer.call, values[answer.call.body["decision_id"]] - {answer.call.body.get("value")}
        unfounded = call.route == "rewards" and answer.status == REFUSED and not others
        if answer.status not in call.allowed or unfounded:
            yield "wrong answer", f"{call.route} {call.body['decision_id']}: {answer.status}"
