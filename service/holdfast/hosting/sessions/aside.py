"""What takes long: plans, and folding everything anew for a longer horizon. Done aside, and put into the log when done.

Both begin with a copy, go on without the learner, and end with an operation that checks that they are still wanted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast.hosting.live import Errand, snapshot_of
from holdfast.hosting.operation import OneByOne
from holdfast.hosting.sessions import folding
from holdfast.hosting.sessions.folding import Folded
from holdfast.hosting.sessions.live import LiveSessions
from holdfast.hosting.sessions.records import HorizonRecord, pack
from holdfast.learners import codec
from holdfast.learners.catalogue import HORIZON_MAX
from holdfast.learners.mdp import Plan, is_due, is_outgrown, replan, snapshot
from holdfast.store import snapshots
from holdfast.store.database import Database
from holdfast.store.log import Event, Transaction

CATCH_UP_MAX = 500  # events that a request may have to wait for

Ask = Callable[[Any], Any]


def errand(live: LiveSessions) -> Errand | None:
    """What is due for this learner, if anything."""
    if live.paused or live.mode == "frozen":
        return None
    if is_outgrown(live.mdp, live.state) and live.mdp.horizon < HORIZON_MAX:
        return _refolding(live)
    return _planning(live) if is_due(live.mdp, live.state) else None


def _planning(live: LiveSessions) -> Errand:
    name, learner_id, mdp, copy = live.name, live.id, live.mdp, snapshot(live.state)

    def plan(database: Database, ask: Ask) -> None:
        ask(Adopt(name, learner_id, replan(mdp, copy), copy.plans, mdp.horizon))

    return plan


@dataclass(frozen=True)
class Adopt(OneByOne):
    """A plan, unless another was adopted or the learner was renewed while it was made."""

    acts_on: ClassVar[type] = LiveSessions

    learner: str
    learner_id: int
    plan: Plan
    plans: int  # adopted before it
    horizon: int

    def perform(self, live: LiveSessions, transaction: Transaction, now: int) -> bool:
        """Whether it was adopted."""
        if (live.id, live.state.plans, live.mdp.horizon) != (self.learner_id, self.plans, self.horizon):
            return False
        live.adopt(self.plan)
        live.position += 1
        payload = codec.encode(self.plan)
        transaction.append(live.id, Event(live.position, "plan", f"p/{live.position}", now, None, None, payload))
        return True


def _refolding(live: LiveSessions) -> Errand:
    name, learner_id, blueprint = live.name, live.id, live.blueprint
    horizon, upto = live.mdp.horizon, live.position
    longer = blueprint.longer(horizon)
    mdp = blueprint.at(longer)

    def refold(database: Database, ask: Ask) -> None:
        folded, behind = folding.nothing(mdp), upto
        while behind:
            while folded.position < behind:
                with database.read() as connection:
                    events = folding.page(connection, learner_id, folded.position)
                if not events:
                    return  # the learner is gone
                folded = folding.fold_page(mdp, folded, events, behind, with_plans=True)
            behind = ask(Extend(name, learner_id, horizon, longer, folded))

    return refold


@dataclass(frozen=True)
class Extend(OneByOne):
    """A longer horizon, with a state folded for it up to some position; the rest is folded here."""

    acts_on: ClassVar[type] = LiveSessions

    learner: str
    learner_id: int
    horizon: int  # before
    longer: int
    folded: Folded

    def perform(self, live: LiveSessions, transaction: Transaction, now: int) -> int:
        """0 when there is nothing more to do, or the position to which it should be folded first."""
        if (live.id, live.mdp.horizon) != (self.learner_id, self.horizon):
            return 0
        if live.position - self.folded.position > CATCH_UP_MAX:
            return live.position
        transaction.flush()  # what neighbours in this batch have added is part of the log
        mdp = live.blueprint.at(self.longer)
        mine = Folded(snapshot(self.folded.state), self.folded.position)
        rest = folding.fold(transaction.connection, live.id, mdp, mine, live.position, with_plans=False)
        live.extend(self.longer, rest.state)
        live.position += 1
        payload = pack(HorizonRecord(self.longer, self.folded.position))
        transaction.append(live.id, Event(live.position, "horizon", f"h/{live.position}", now, None, None, payload))
        if snapshots.save_if_it_fits(transaction.connection, live.id, snapshot_of(live), now):
            live.snapshot_position = live.position  # and no replica must fold all that again
        return 0
