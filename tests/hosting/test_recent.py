"""The end of a log, in a bounded number of actions."""

import pytest

from holdfast.hosting import recent
from holdfast.hosting.recent import recent_actions
from holdfast.store.database import Database
from tests.hosting.harness import Clock, driving


def _ids(database: Database) -> list[str]:
    with database.read() as connection:
        return [action["id"] for action in recent_actions(connection, 1)]


def test_the_last_shown_come_first_each_once_as_they_were_then(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with driving(database, Clock()) as driver:
        driver.create()
        assert _ids(database) == []
        made = [driver.decide(f"d{i}", seed=i, top=1 + i % 2) for i in range(12)]
        for i in range(6):
            driver.reward(f"d{i}", 0.5)
        tops = [1 + i % 2 for i in range(12)]
        shown = [
            answer.ids[i]
            for answer, top in reversed(list(zip(made, tops, strict=True)))
            for i in answer.ranking.order[:top]
        ]
        assert _ids(database) == list(dict.fromkeys(shown))
        with database.read() as connection:
            first = recent_actions(connection, 1)[0]
        assert (first["mean"], first["bonus"]) == (made[-1].ranking.mean[0], made[-1].ranking.bonus[0])
        monkeypatch.setattr(recent, "ACTIONS_MAX", 1)
        assert _ids(database) == shown[:1]
        monkeypatch.setattr(recent, "EVENTS_MAX", 6)  # all of them rewards
        assert _ids(database) == []
