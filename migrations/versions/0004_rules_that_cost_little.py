"""The kinds of events as a rule that costs little; on SQLite no reference to the learner, as on PostgreSQL (see 0003).

To look a word up in a list SQLite makes an index of the list, for every row anew: a third of the time that a row takes.
PostgreSQL reads the text of a rule anew for every statement, and a list of eleven texts is long. What the log holds has
passed the same rule in other words, so neither reads it again.
"""

import sqlite3

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KINDS = (
    "decision", "reward", "expiry", "observation", "import",
    "episode", "step", "finish", "learned", "plan", "horizon",
)  # fmt: skip
NAME = "ck_events_ck_events_kind_is_known"  # as 0001 came to call it
ONE_TEXT = f"kind = ANY ('{{{','.join(KINDS)}}}'::text[])"
LISTED = f"kind IN {KINDS}"
SPELLED = " OR ".join(f"kind = '{kind}'" for kind in KINDS)
REFERENCE = ", \n\tCONSTRAINT fk_{table}_learner_id FOREIGN KEY(learner_id) REFERENCES learners (id) ON DELETE CASCADE"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE events DROP CONSTRAINT {NAME}, ADD CONSTRAINT {NAME} CHECK ({ONE_TEXT}) NOT VALID")
        return
    for table in ("events", "waiting"):
        reference = REFERENCE.format(table=table)
        said = op.get_bind().scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": table})
        _say(table, said.replace(LISTED, SPELLED).replace(reference, ""))


def _say(table: str, description: str) -> None:
    """The description of a table whose rows stay as they are, in the way that SQLite's documentation of ALTER TABLE has
    for rules. A library that does not allow it leaves all as it was, which is right too, and slower.
    """
    database = op.get_bind()
    version = database.scalar(sa.text("PRAGMA schema_version"))
    database.execute(sa.text("PRAGMA writable_schema = ON"))
    try:
        change = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = :name")
        database.execute(change, {"sql": description, "name": table})
        database.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    except sa.exc.OperationalError as problem:
        # So it tells that the table may not be modified; a full disk, say, has a code of its own.
        if problem.orig.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
    finally:
        database.execute(sa.text("PRAGMA writable_schema = OFF"))
