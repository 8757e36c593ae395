"""PostgreSQL looked up the learner for every event and every wait, though the transaction has locked it anyway.

On SQLite the reference stays: there it costs nothing, and only copying the whole log could remove it.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in ("events", "waiting"):
            op.drop_constraint(f"fk_{table}_learner_id", table, type_="foreignkey")
