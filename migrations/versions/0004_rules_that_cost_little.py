"""On SQLite the rules of the log said in another way, and no reference to the learner, as on PostgreSQL (see 0003).

To look a word up in a list SQLite makes an index of the list, for every row anew: a third of the time that a row takes.
The log itself is as before, so it need not be copied: only the schema's text is changed, in the way that SQLite's
documentation of ALTER TABLE describes for rules. A library that does not allow it leaves the rules as they are; they
mean the same.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KINDS = (
    "decision", "reward", "expiry", "observation", "import",
    "episode", "step", "finish", "learned", "plan", "horizon",
)  # fmt: skip
LISTED = f"kind IN {KINDS}"
SPELLED = " OR ".join(f"kind = '{kind}'" for kind in KINDS)
REFERENCE = ", \n\tCONSTRAINT fk_{table}_learner_id FOREIGN KEY(learner_id) REFERENCES learners (id) ON DELETE CASCADE"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table in ("events", "waiting"):
            reference = REFERENCE.format(table=table)
            said = op.get_bind().scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": table})
            _say(table, said.replace(LISTED, SPELLED).replace(reference, ""))


def _say(table: str, description: str) -> None:
    """The description of a table whose rows stay as they are."""
    database = op.get_bind()
    version = database.scalar(sa.text("PRAGMA schema_version"))
    database.execute(sa.text("PRAGMA writable_schema = ON"))
    try:
        change = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = :name")
        database.execute(change, {"sql": description, "name": table})
        database.execute(sa.text(f"PRAGMA schema_version = {version + 1}"))
    except sa.exc.OperationalError:
        pass
    finally:
        database.execute(sa.text("PRAGMA writable_schema = OFF"))
