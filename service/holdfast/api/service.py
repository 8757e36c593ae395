"""What every route works with: the database, the host, the gate, and the encoders of the learners."""

import json
import time
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from holdfast.api.access import Gate
from holdfast.errors import NotFound
from holdfast.features import Encoder
from holdfast.hosting.blueprint import Blueprint, draw
from holdfast.hosting.host import Host
from holdfast.store import learners
from holdfast.store.database import Database

REMEMBERED_S = 1.0
REMEMBERED_MAX = 10_000


@dataclass
class Service:
    """One process's working parts."""

    database: Database
    host: Host
    gate: Gate
    _known: dict[str, tuple[float, str, Blueprint]] = field(default_factory=dict)

    async def encoder(self, name: str) -> Encoder:
        """How this learner's requests become features."""
        return (await self.blueprint(name)).encoder

    async def blueprint(self, name: str) -> Blueprint:
        """The parts that follow from the learner's description, as it was a moment ago."""
        known = self._known.get(name)
        if known is not None and time.monotonic() - known[0] < REMEMBERED_S:
            return known[2]
        spec = await run_in_threadpool(self._spec, name)
        if known is None or known[1] != spec:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            known = (0.0, spec, draw(json.loads(spec)))
        self._known[name] = (time.monotonic(), spec, known[2])
        return known[2]

    def _spec(self, name: str) -> str:
        with self.database.read() as connection:
            row = learners.find(connection, name)
        if row is None:
            self._known.pop(name, None)
            raise NotFound("learner", "no such learner")
        return row.spec
