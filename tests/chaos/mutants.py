"""Broken builds of the service, to show that the harness can fail; called in the serving process before it serves.

`save_often` alone is no mutant: snapshots come every few events instead of thousands, so that short runs see them.
"""

import time
import uuid
from functools import partial

from holdfast.hosting import host, learn, recover, saving
from holdfast.hosting.host import Host
from holdfast.hosting.live import LiveLearner, snapshot_of
from holdfast.hosting.mailbox import Job
from holdfast.store import snapshots
from holdfast.store.database import Connection
from holdfast.store.log import Transaction
from holdfast.store.waiting import apart

SNAPSHOT_EVERY = 40
PAUSE_S = 0.02  # between what is done too early and the commit, as on a slow disk: few kills are enough to catch it

# What each is to be caught at: one of these, at least.
MUTANTS = {
    "early_ack": {"lost"},
    "no_dedupe": {"double"},
    "snapshot_ahead_of_log": {"gap", "state mismatch"},
    "wrong_replay_order": {"state mismatch"},
}

# And what no kill can show, because memory dies with the process: it takes a commit that fails.
MUTANTS_IN_TROUBLE = {"apply_then_commit": {"gap", "state mismatch"}}


def save_often() -> None:
    saving.EVERY, saving.APART_S = SNAPSHOT_EVERY, 0.0


def early_ack() -> None:
    """The answers go out, then comes the commit."""

    def serve(self: Host, batch: list[Job]) -> None:
        with self._database.write() as connection:
            transaction = Transaction(connection)
            host._publish(batch, self._perform(batch, transaction))
            apart(partial(time.sleep, PAUSE_S))  # the event loop goes on
            transaction.flush()
        self._offer_aside(batch)

    Host._serve = serve


def no_dedupe() -> None:
    """A reward that was sent before is taken for a new one."""
    learn._earlier = lambda *_: None
    learn.reward_event_id = lambda decision_id, shown: f"r/{uuid.uuid4().hex}/{decision_id}"


def snapshot_ahead_of_log() -> None:
    """The snapshot is committed first, the events that it has learned afterwards."""

    def serve(self: Host, batch: list[Job]) -> None:
        try:
            with self._database.write() as connection:
                transaction = Transaction(connection)
                answers = self._perform(batch, transaction)
                for live in self._live.values():
                    snapshots.save(connection, live.id, snapshot_of(live), 0)
            apart(partial(time.sleep, PAUSE_S))  # the event loop goes on
            with self._database.write() as connection:
                transaction.connection = connection
                transaction.flush()
        except Exception as problem:
            self._forget(batch)
            answers = [problem] * len(batch)
        host._publish(batch, answers)

    Host._serve = serve


def wrong_replay_order() -> None:
    """Recovery folds each chunk of the log from its end."""

    def catch_up(connection: Connection, live: LiveLearner) -> None:
        while events := live.next_events(connection):
            for event, related in reversed(events):
                live.position = event.position - 1
                live.replay(connection, event, related)
            live.position = events[-1][0].position

    recover.catch_up = catch_up
    host.catch_up = catch_up


def apply_then_commit() -> None:
    """What a batch has taught stays in memory, even if its commit failed."""

    def lock(self: Host, live: LiveLearner, transaction: Transaction) -> bool:
        row = transaction.lock(live.id)
        if row is not None and row.head > live.position:
            recover.catch_up(transaction.connection, live)
        return row is not None

    Host._lock = lock
    Host._forget = lambda self, batch: None
