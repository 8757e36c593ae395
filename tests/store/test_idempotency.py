"""First answers are found however many are asked for, and kept for a day."""

from holdfast.store.database import Database
from holdfast.store.idempotency import KEPT_S, RECALLED_AT_ONCE_MAX, FirstAnswer, forget, recall_all, remember_all

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
