"""The schema. Rules are constraints, each with a sentence above it; `migrations/` builds it, a test compares the two.

Times are microseconds since 1970, as integers: both databases keep them exactly.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

ID_LENGTH_MAX = 256
# Of decisions and of sessions; `reward` and `import` are of both.
EVENT_KINDS = (
    "decision", "reward", "expiry", "observation", "import",
    "episode", "step", "finish", "learned", "plan", "horizon",
)  # fmt: skip
_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows only in an INTEGER column
_TOLD = "about IS NOT NULL"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

learners = Table(
    "learners",
    metadata,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("name", String(ID_LENGTH_MAX), nullable=False),
    # What the caller asked for, as canonical JSON: creating it again with the same text is not a conflict. Nothing:
    # the learner was deleted, and its log is being removed.
    Column("spec", Text, nullable=False),
    # The same as it was at first: creating it again is not a conflict after a change either.
    Column("described", Text, nullable=False),
    Column("mode", String(16), nullable=False, server_default="online"),
    Column("paused", Boolean, nullable=False),
    # The position of the newest event. Handed out under this row's lock, so positions have no gap and no reuse.
    Column("head", BigInteger, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("name"),
    CheckConstraint("mode IN ('online', 'shadow', 'frozen')", name="mode_is_known"),
    CheckConstraint("head >= 0", name="head_is_a_position"),
    # An id is never used again: a copy of a deleted learner must not be taken for the new one.
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    # No reference: whoever writes here holds the learner's row, and PostgreSQL would look for it with every event.
    # Likewise below.
    Column("learner_id", _NUMBER, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("event_id", String(ID_LENGTH_MAX + 64), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("source", String(ID_LENGTH_MAX), nullable=True),
    # The position of the decision or episode that a reward, a step or an end is about.
    Column("about", BigInteger, nullable=True),
    Column("payload", LargeBinary, nullable=False),
    Index("ix_events_about", "learner_id", "about", sqlite_where=text(_TOLD), postgresql_where=text(_TOLD)),
    # One effect per decision and reward, however often it is sent.
    UniqueConstraint("learner_id", "event_id"),
    CheckConstraint("position >= 1", name="positions_start_at_one"),
    # Each in the way that costs it least: of a list SQLite makes an index for every row, and PostgreSQL reads a rule
    # anew for every statement, the longer the slower.
    CheckConstraint(" OR ".join(f"kind = '{kind}'" for kind in EVENT_KINDS), name="kind_is_known").ddl_if("sqlite"),
    CheckConstraint(f"kind = ANY ('{{{','.join(EVENT_KINDS)}}}'::text[])", name="kind_is_known").ddl_if("postgresql"),
    sqlite_with_rowid=False,
)

# Decisions whose reward wait has not ended, and open episodes: neither memory nor a restart has to know them all.
waiting = Table(
    "waiting",
    metadata,
    Column("learner_id", _NUMBER, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("deadline", BigInteger, nullable=False),
    Index("ix_waiting_deadline", "learner_id", "deadline"),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("learner_id", _NUMBER, ForeignKey("learners.id", ondelete="CASCADE"), primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("state", LargeBinary, nullable=False),
    Column("tally", Text, nullable=False),
    # SHA-256 of all of it: a snapshot at the wrong position is as bad as a wrong state.
    Column("digest", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(ID_LENGTH_MAX), nullable=False),
    Column("role", String(16), nullable=False),
    Column("learner", String(ID_LENGTH_MAX), nullable=True),
    # HMAC-SHA256 of the secret under the server's pepper; the secret itself is never stored.
    Column("digest", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger, nullable=True),
    CheckConstraint("role IN ('admin', 'decide', 'reward', 'read')", name="role_is_known"),
)

# The first answer to a request with an Idempotency-Key, written in the same transaction as its effect.
idempotency = Table(
    "idempotency",
    metadata,
    Column("scope", String(ID_LENGTH_MAX * 2), primary_key=True),
    Column("key", String(ID_LENGTH_MAX), primary_key=True),
    Column("request_digest", LargeBinary, nullable=False),
    Column("status", Integer, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("ix_idempotency_at", "at"),
)

audit = Table(
    "audit",
    metadata,
    Column("id", _NUMBER, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("key_id", String(32), nullable=True),
    Column("act", String(64), nullable=False),
    Column("target", String(ID_LENGTH_MAX), nullable=False),
    # The name of the key, or of whoever acted without one: a key's name may be gone by the time this is read.
    Column("actor", String(ID_LENGTH_MAX), nullable=False, server_default=""),
    # What exactly, as JSON.
    Column("detail", Text, nullable=False, server_default="{}"),
)
