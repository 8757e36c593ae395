"""API keys: 256 random bits, looked up by id, stored as an HMAC under the server's pepper.

A slow hash would be a denial of service of our own making: these secrets cannot be guessed.
"""

import hashlib
import hmac
import secrets
from typing import Literal, NamedTuple

from sqlalchemy import Connection, insert, select, update

from holdfast.store.tables import keys

Role = Literal["admin", "decide", "reward", "read"]
ROLES = ("admin", "decide", "reward", "read")


class Key(NamedTuple):
    """A key as it is stored."""

    id: str
    name: str
    role: str
    learner: str | None
    digest: bytes
    created_at: int
    revoked_at: int | None

    def opens_with(self, secret: str, pepper: bytes) -> bool:
        return self.revoked_at is None and hmac.compare_digest(self.digest, digest_of(secret, pepper))


_COLUMNS = tuple(keys.c[name] for name in Key._fields)


def digest_of(secret: str, pepper: bytes) -> bytes:
    return hmac.digest(pepper, secret.encode(), hashlib.sha256)


def split(text: str) -> tuple[str, str] | None:
    """`hf_<id>_<secret>` → id and secret."""
    parts = text.split("_", 2)
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "hf" else None


def create(connection: Connection, name: str, role: Role, learner: str | None, pepper: bytes, now: int) -> str:
    """Store a new key; the text that is shown once."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    digest = digest_of(secret, pepper)
    connection.execute(
        insert(keys).values(id=key_id, name=name, role=role, learner=learner, digest=digest, created_at=now)
    )
    return f"hf_{key_id}_{secret}"


def find(connection: Connection, key_id: str) -> Key | None:
    row = connection.execute(select(*_COLUMNS).where(keys.c.id == key_id)).first()
    return None if row is None else Key(*row)


def every(connection: Connection) -> list[Key]:
    return [Key(*row) for row in connection.execute(select(*_COLUMNS).order_by(keys.c.created_at, keys.c.id))]


def revoke(connection: Connection, key_id: str, now: int) -> bool:
    """Whether there was such a key to revoke."""
    active = keys.c.revoked_at.is_(None)
    return connection.execute(update(keys).where(keys.c.id == key_id, active).values(revoked_at=now)).rowcount == 1
