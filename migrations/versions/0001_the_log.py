"""Learners, their logs, snapshots, keys, idempotency records and the audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "learners",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("described", sa.Text, nullable=False),
        sa.Column("mode", sa.String(16), nullable=False, server_default="online"),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("head", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_learners"),
        sa.UniqueConstraint("name", name="uq_learners_name"),
        sa.CheckConstraint("mode IN ('online', 'shadow', 'frozen')", name="ck_learners_mode_is_known"),
        sa.CheckConstraint("head >= 0", name="ck_learners_head_is_a_position"),
        sqlite_autoincrement=True,
    )
    _create_log()
    op.create_table(
        "snapshots",
        _learner("snapshots"),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("tally", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("learner_id", "position", name="pk_snapshots"),
    )
    if op.get_bind().dialect.name == "postgresql":  # numbers do not compress: trying takes most of the time of a write
        op.execute("ALTER TABLE events ALTER COLUMN payload SET STORAGE EXTERNAL")
        op.execute("ALTER TABLE snapshots ALTER COLUMN state SET STORAGE EXTERNAL")
    _create_access()


def _learner(table: str) -> sa.Column:
    reference = sa.ForeignKey("learners.id", ondelete="CASCADE", name=f"fk_{table}_learner_id")
    return sa.Column("learner_id", _NUMBER, reference, nullable=False)


def _create_log() -> None:
    op.create_table(
        "events",
        _learner("events"),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("event_id", sa.String(320), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("source", sa.String(256), nullable=True),
        sa.Column("about", sa.BigInteger, nullable=True),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("learner_id", "position", name="pk_events"),
        sa.UniqueConstraint("learner_id", "event_id", name="uq_events_learner_id"),
        sa.CheckConstraint("position >= 1", name="ck_events_positions_start_at_one"),
        sa.CheckConstraint(
            "kind IN ('decision', 'reward', 'expiry', 'observation', 'import', "
            "'episode', 'step', 'finish', 'learned', 'plan', 'horizon')",
            name="ck_events_kind_is_known",
        ),
        sqlite_with_rowid=False,
    )
    told = sa.text("about IS NOT NULL")
    op.create_index("ix_events_about", "events", ["learner_id", "about"], sqlite_where=told, postgresql_where=told)
    op.create_table(
        "waiting",
        _learner("waiting"),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("deadline", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("learner_id", "position", name="pk_waiting"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_waiting_deadline", "waiting", ["learner_id", "deadline"])


def _create_access() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(256), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("learner", sa.String(256), nullable=True),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.CheckConstraint("role IN ('admin', 'decide', 'reward', 'read')", name="ck_keys_role_is_known"),
    )
    op.create_table(
        "idempotency",
        sa.Column("scope", sa.String(512), nullable=False),
        sa.Column("key", sa.String(256), nullable=False),
        sa.Column("request_digest", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_idempotency"),
    )
    op.create_index("ix_idempotency_at", "idempotency", ["at"])
    op.create_table(
        "audit",
        sa.Column("id", _NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("key_id", sa.String(32), nullable=True),
        sa.Column("act", sa.String(64), nullable=False),
        sa.Column("target", sa.String(256), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
