"""First answers are found however many are asked for, and kept for a day."""

from pathlib import Path
from typing import Any

from sqlalchemy import event

from holdfast.store.database import Database
from holdfast.store.engine import connect
from holdfast.store.idempotency import (
    FORGOTTEN_AT_ONCE_MAX,
    KEPT_S,
    RECALLED_AT_ONCE_MAX,
    FirstAnswer,
    forget,
    recall_all,
    remember_all,
)
from holdfast.store.migrate import migrate
from tests.databases import fresh_url

NOW = 2 * KEPT_S * 1_000_000
ANSWERS = {("scope", f"key {i}"): FirstAnswer(b"asked", 201, b"%d" % i) for i in range(2 * RECALLED_AT_ONCE_MAX + 1)}


def test_more_are_recalled_than_one_query_takes(database: Database) -> None:
    with database.write() as connection:
        remember_all(connection, ANSWERS, NOW)
        assert recall_all(connection, [*ANSWERS, ("scope", "unknown")]) == ANSWERS


def test_an_answer_is_kept_for_a_day_and_no_longer(database: Database) -> None:
    with database.write() as connection:
        remember_all(connection, ANSWERS, NOW)
        assert forget(connection, NOW + KEPT_S * 1_000_000) == 0
        assert forget(connection, NOW + KEPT_S * 1_000_000 + 1) == len(ANSWERS)
        assert recall_all(connection, list(ANSWERS)) == {}


def test_answers_are_recalled_each_in_its_scope(database: Database) -> None:
    both = {(scope, "key"): FirstAnswer(b"asked", 201, scope.encode()) for scope in ("one", "two")}
    with database.write() as connection:
        remember_all(connection, both, NOW)
        assert recall_all(connection, [*both, ("three", "key")]) == both


def test_old_answers_are_forgotten_some_at_a_time(database: Database) -> None:
    count = FORGOTTEN_AT_ONCE_MAX + 100
    with database.write() as connection:
        for at in range(0, count, 50):
            remember_all(connection, {("scope", f"{at + i}"): FirstAnswer(b"", 201, b"") for i in range(50)}, at)
        assert forget(connection, NOW) == FORGOTTEN_AT_ONCE_MAX
        assert recall_all(connection, [("scope", "0"), ("scope", f"{count - 1}")]).keys() == {("scope", f"{count - 1}")}
        assert forget(connection, NOW) == 100


def test_sqlite_walks_over_no_more_answers_than_it_was_asked_for(tmp_path: Path) -> None:
    database = Database(connect(fresh_url("sqlite", tmp_path)))
    migrate(database.engine)
    plans: list[str] = []

    @event.listens_for(database.engine, "before_cursor_execute")
    def explain(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if "idempotency" in statement:
            plans.extend(row[-1] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    with database.write() as connection:
        recall_all(connection, [("scope", "one"), ("scope", "two")])
        forget(connection, NOW)
    database.close()
    assert len(plans) >= 3
    assert all(plan.startswith("SEARCH idempotency USING") for plan in plans), plans
