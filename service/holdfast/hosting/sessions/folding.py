"""Reading what a log of sessions has taught, a bounded part at a time."""

from typing import Any, NamedTuple

from holdfast.hosting.sessions.records import FinishRecord, LearnedRecord, StepRecord, number_of, transitions, unpack
from holdfast.learners import codec
from holdfast.learners.mdp import Mdp, MdpState, Transition
from holdfast.learners.mdp import fold as refolded
from holdfast.store.database import Connection
from holdfast.store.log import CHUNK, Event, events_about, events_after

PAGE_BYTES_MAX = 32 * 1024 * 1024

Page = list[tuple[Event, list[Event]]]


class Folded(NamedTuple):
    """A state, and the position in the log up to which it was folded."""

    state: MdpState
    position: int


def page(connection: Connection, learner_id: int, position: int) -> Page:
    """The next events; with the end of an episode, everything that was said of it."""
    events = events_after(connection, learner_id, position, CHUNK, PAGE_BYTES_MAX)
    near: dict[int, list[Event]] = {}
    related: Page = []
    for event in events:
        if event.about is not None:
            near.setdefault(event.about, []).append(event)
        related.append((event, _said(connection, learner_id, event, near) if event.kind == "learned" else []))
    return related


def _said(connection: Connection, learner_id: int, learned: Event, near: dict[int, list[Event]]) -> list[Event]:
    """Of the same page if all of it is there."""
    assert learned.about is not None, "the end of an episode is about its start"
    said = near[learned.about]
    taken = unpack(learned.payload, LearnedRecord).taken
    if sum(event.kind == "step" for event in said) == taken:
        return said
    return events_about(connection, learner_id, [learned.about])[learned.about]


def taught(learned: Event, said: list[Event]) -> list[Transition]:
    """The transitions of an episode, from the events about it."""
    steps = {number_of(event.event_id): event for event in said if event.kind == "step"}
    finish = [unpack(event.payload, FinishRecord) for event in said if event.kind == "finish"]
    record = unpack(learned.payload, LearnedRecord)
    in_order = [unpack(steps[number].payload, StepRecord) for number in range(1, record.taken + 1)]
    return transitions(record, in_order, finish[0] if finish else None)


def nothing(mdp: Mdp[Any]) -> Folded:
    return Folded(mdp.init(), 0)


def fold(connection: Connection, learner_id: int, mdp: Mdp[Any], start: Folded, upto: int, with_plans: bool) -> Folded:
    """What all episodes after `start` and up to a position teach this learner; the plans of the log are passed over.

    With plans, each is made and adopted on the spot when it is due. An imported state is where it begins.
    """
    folded = start
    while folded.position < upto:
        events = page(connection, learner_id, folded.position)
        if not events:
            break
        folded = fold_page(mdp, folded, events, upto, with_plans)
    return folded


def fold_page(mdp: Mdp[Any], folded: Folded, events: Page, upto: int, with_plans: bool) -> Folded:
    """The same for events that were read already; `folded` is donated."""
    state, position = folded
    for event, said in events:
        if event.position > upto:
            break
        position = event.position
        if event.kind == "import":
            state = codec.restore(event.payload, mdp)
        elif event.kind == "learned" and (known := taught(event, said)):
            state = refolded(mdp, state, [known]) if with_plans else mdp.learn(state, known, donate=True)[0]
    return Folded(state, position)
