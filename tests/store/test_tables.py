"""The schema that migrations build is the schema the code describes, and it keeps its rules by itself."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from holdfast.store.database import Database
from holdfast.store.migrate import is_current, migrate
from holdfast.store.tables import events, keys, learners, metadata

EVENT = {"learner_id": 1, "position": 1, "kind": "decision", "event_id": "d/1", "at": 0, "payload": b""}


def test_the_migrations_build_exactly_the_tables_of_the_code(database: Database) -> None:
    with database.read() as connection:
        different = compare_metadata(MigrationContext.configure(connection), metadata)
    if database.engine.dialect.name == "sqlite":  # which cannot be rid of them without copying the log
        references = {("remove_fk", "events"), ("remove_fk", "waiting")}
        assert {(what, key.parent.name) for what, key in different} == references
    else:
        assert different == []


def test_migrating_again_changes_nothing(database: Database) -> None:
    migrate(database.engine)
    assert is_current(database.engine)


def _add_learner(database: Database) -> None:
    with database.write() as connection:
        connection.execute(
            insert(learners).values(id=1, name="a", spec="{}", described="{}", paused=False, created_at=0)
        )


@pytest.mark.parametrize(
    "change",
    [{"position": 0}, {"kind": "guess"}, {"event_id": None}],
    ids=["position 0", "unknown kind", "no id"],
)
def test_an_event_that_breaks_a_rule_is_refused_by_the_database(database: Database, change: dict[str, object]) -> None:
    _add_learner(database)
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(insert(events).values(**{**EVENT, **change}))


@pytest.mark.parametrize("change", [{"position": 2}, {"event_id": "d/2"}], ids=["same id", "same position"])
def test_positions_and_ids_are_used_once(database: Database, change: dict[str, object]) -> None:
    _add_learner(database)
    with database.write() as connection:
        connection.execute(insert(events).values(**EVENT))
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(insert(events).values(**{**EVENT, **change}))


def test_an_unknown_role_is_refused_by_the_database(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(insert(keys).values(id="1", name="n", role="king", digest=b"", created_at=0))
