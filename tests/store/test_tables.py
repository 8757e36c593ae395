"""The schema that migrations build is the schema the code describes, and it keeps its rules by itself."""

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import URL, Connection, insert, text
from sqlalchemy.exc import IntegrityError

from holdfast.store.database import Database
from holdfast.store.engine import connect
from holdfast.store.log import events_after
from holdfast.store.migrate import _configuration, _transactional, is_current, migrate
from holdfast.store.tables import EVENT_KINDS, events, keys, learners, metadata

EVENT = {"learner_id": 1, "position": 1, "kind": "decision", "event_id": "d/1", "at": 0, "payload": b""}


# SQLAlchemy trips over a rule that what was there before has not been read under (NOT VALID).
@pytest.mark.filterwarnings("ignore:Can't validate argument 'dialect_options'")
def test_the_migrations_build_exactly_the_tables_of_the_code(database: Database) -> None:
    with database.read() as connection:
        different = compare_metadata(MigrationContext.configure(connection), metadata)
    assert different == []


def test_migrating_again_changes_nothing(database: Database) -> None:
    migrate(database.engine)
    assert is_current(database.engine)


def test_a_log_from_before_its_rules_were_said_otherwise_is_kept_under_them(url: URL) -> None:
    engine = connect(url)
    with _transactional(engine).begin() as connection:
        configuration = _configuration()
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, "0003")
        _insert_learner(connection)
        connection.execute(insert(events).values(**EVENT))
        before = _rule_of_kinds(connection)
    migrate(engine)
    with engine.connect() as connection:
        after = _rule_of_kinds(connection)
        assert [event.event_id for event in events_after(connection, 1, 0)] == ["d/1"]
        if engine.dialect.name == "sqlite":
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    assert after != before
    second = {**EVENT, "position": 2, "event_id": "d/2"}
    with pytest.raises(IntegrityError), _transactional(engine).begin() as connection:
        connection.execute(insert(events).values(**{**second, "kind": "guess"}))
    for number, kind in enumerate(EVENT_KINDS, 2):
        with _transactional(engine).begin() as connection:
            connection.execute(insert(events).values(**{**second, "position": number, "event_id": kind, "kind": kind}))
    engine.dispose()


def _rule_of_kinds(connection: Connection) -> str:
    """As the database has it."""
    if connection.dialect.name == "sqlite":
        return str(connection.execute(text("SELECT sql FROM sqlite_master WHERE name = 'events'")).scalar())
    rules = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname LIKE '%kind_is_known'"
    return str(connection.execute(text(rules)).scalar_one())


def _add_learner(database: Database) -> None:
    with database.write() as connection:
        _insert_learner(connection)


def _insert_learner(connection: Connection) -> None:
    connection.execute(insert(learners).values(id=1, name="a", spec="{}", described="{}", paused=False, created_at=0))


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
