"""Who changes a learner tells the writer of the same process, so that it does not go on from what was."""

import pytest

from holdfast.api import learners
from holdfast.api.access import Gate
from holdfast.api.schemas import LearnerChange
from holdfast.api.service import Service
from holdfast.hosting import host
from holdfast.store.audit import Actor
from holdfast.store.bulk import Locked
from holdfast.store.database import Database
from holdfast.store.log import Transaction
from tests.hosting.harness import Clock, driving

ADMIN = Actor("somebody")


def test_a_learner_that_is_changed_here_is_looked_at_first(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    beliefs: list[bool] = []
    lock = Transaction.lock

    def watched(self: Transaction, learner_id: int, believed: Locked | None = None) -> Locked | None:
        beliefs.append(believed is not None)
        return lock(self, learner_id, believed)

    monkeypatch.setattr(Transaction, "lock", watched)
    monkeypatch.setattr(host, "LOOK_FIRST_S", 0.0)
    with driving(database, Clock()) as driver:
        service = Service(database, driver.host, Gate(database, b"", True))
        driver.create()
        driver.decide("d1")
        monkeypatch.setattr(host, "LOOK_FIRST_S", 60.0)
        learners.change(ADMIN, "home", LearnerChange(mode="frozen"), service)
        assert driver.reward("d1", 0.5).outcome == "ignored"
        assert beliefs == [True, False]
