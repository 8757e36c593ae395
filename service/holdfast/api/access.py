"""Who is calling and what they may do. A foreign learner looks exactly like an absent one."""

import time
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from holdfast.api.schemas import is_name
from holdfast.api.wire import Headers
from holdfast.errors import Forbidden, NotFound, Unauthorised
from holdfast.store import keys
from holdfast.store.audit import LOCAL, Actor
from holdfast.store.database import Database
from holdfast.store.keys import Key

REMEMBERED_S = 2.0  # so a revoked key is refused within this time
REMEMBERED_MAX = 10_000

# What each role may do; every route asks for one of these acts.
ALLOWED = {
    "admin": {"admin", "decide", "reward", "read"},
    "decide": {"decide", "reward"},
    "reward": {"reward"},
    "read": {"read"},
}


@dataclass
class Gate:
    """Keys as they were a moment ago."""

    database: Database
    pepper: bytes
    open: bool  # authentication is off
    _seen: dict[str, tuple[float, Key | None]] = field(default_factory=dict)

    async def admit(self, headers: Headers, act: str, learner: str | None = None) -> Actor:
        """The caller, if the key allows the act on the learner."""
        caller = LOCAL if self.open else await self._caller(headers, act, learner)
        if learner is not None and not is_name(learner):
            raise NotFound("learner", "no such learner")  # without asking the database, which may not take such a text
        return caller

    async def _caller(self, headers: Headers, act: str, learner: str | None) -> Actor:
        scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        parts = keys.split(text.strip()) if scheme.lower() == "bearer" else None
        key = await self._key(parts[0]) if parts else None
        if parts is None or key is None or not key.opens_with(parts[1], self.pepper):
            raise Unauthorised("send a valid key: Authorization: Bearer <key>")
        if learner is not None and key.learner not in (None, learner):
            raise NotFound("learner", "no such learner")
        if act not in ALLOWED[key.role]:
            raise Forbidden(f"a key of role {key.role} may not do this")
        return Actor(key.name, key.id, key.learner)

    async def _key(self, key_id: str) -> Key | None:
        now = time.monotonic()
        known = self._seen.get(key_id)
        if known is not None and now - known[0] <= REMEMBERED_S:
            return known[1]
        if known is not None:
            self._seen[key_id] = (now, known[1])  # one reads it again; the others use what is known
        key = await run_in_threadpool(self._read, key_id)
        if len(self._seen) >= REMEMBERED_MAX:
            self._seen.clear()
        self._seen[key_id] = (now, key)
        return key

    def _read(self, key_id: str) -> Key | None:
        with self.database.read() as connection:
            return keys.find(connection, key_id)
