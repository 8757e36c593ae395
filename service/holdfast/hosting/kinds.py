"""The kinds of learners there are, and what each does where the host asks for more than a fold."""

import json

from holdfast.hosting.blueprint import SessionBlueprint, draw
from holdfast.hosting.expire import expire
from holdfast.hosting.live import Errand, LiveBandit, LiveLearner
from holdfast.hosting.sessions import aside
from holdfast.hosting.sessions.close import time_out
from holdfast.hosting.sessions.live import LiveSessions, fresh_tally
from holdfast.learners.modes import as_mode
from holdfast.store.learners import LearnerRow
from holdfast.store.log import Event, Transaction


def fresh(row: LearnerRow) -> LiveLearner:
    """A learner that has seen nothing, of the kind that its description says."""
    blueprint, mode = draw(json.loads(row.spec)), as_mode(row.mode)
    if isinstance(blueprint, SessionBlueprint):
        state, tally = blueprint.mdp.init(), fresh_tally(blueprint)
        return LiveSessions(row.id, row.name, row.spec, blueprint, mode, row.paused, state, tally=tally)
    return LiveBandit(row.id, row.name, row.spec, blueprint, mode, row.paused, blueprint.bandit.init())


def settle(live: LiveLearner, transaction: Transaction, waits: list[Event], now: int) -> None:
    """The wait of these decisions or episodes has ended."""
    if isinstance(live, LiveSessions):
        time_out(live, transaction, waits, now)
    elif isinstance(live, LiveBandit):
        expire(live, transaction, waits, now)


def errand_of(live: LiveLearner) -> Errand | None:
    """Long work that is due for this learner."""
    return aside.errand(live) if isinstance(live, LiveSessions) else None
