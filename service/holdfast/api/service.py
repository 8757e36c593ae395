"""What every route works with: the database, the host, the gate, and the encoders of the learners."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool

from holdfast.api.access import Gate
from holdfast.api.limits import Limits
from holdfast.errors import HoldfastError, InvalidInput, NotFound, Unavailable
from holdfast.features import Encoder
from holdfast.hosting.blueprint import AnyBlueprint, draw
from holdfast.hosting.decide import REPLACED
from holdfast.hosting.host import Host
from holdfast.hosting.mailbox import Job
from holdfast.hosting.operation import Operation
from holdfast.store import learners
from holdfast.store.database import Database

ANSWER_WITHIN_S = 10.0
REMEMBERED_S = 1.0
REMEMBERED_MAX = 10_000
LOOKED_AT_AGAIN_S = 0.1  # not more often than this for what is refused


@dataclass
class Service:
    """One process's working parts."""

    database: Database
    host: Host
    gate: Gate
    limits: Limits = field(default_factory=Limits)
    _known: dict[str, tuple[float, str, AnyBlueprint]] = field(default_factory=dict)
    _looks: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)  # that have not begun

    async def ask(self, operation: Operation) -> Any:
        """The answer of the writer, after its commit."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self.host.submit_all([Job(operation, answer)])
        deadline = loop.call_later(ANSWER_WITHIN_S, _give_up, answer)
        try:
            return await answer
        finally:
            deadline.cancel()

    async def encoder(self, name: str) -> Encoder:
        """How this learner's requests become features."""
        return (await self.blueprint(name)).encoder

    async def blueprint(self, name: str) -> AnyBlueprint:
        """The parts that follow from the learner's description, as it was a moment ago."""
        known = self._known.get(name)
        if known is None:
            return await self._refresh(name)
        looked_at, spec, blueprint = known
        if time.monotonic() - looked_at > REMEMBERED_S:
            self._known[name] = (time.monotonic(), spec, blueprint)  # others use what is known while it is looked up
            if not self.host.confirms(name, spec, REMEMBERED_S):
                return await self._refresh(name)
        return blueprint

    def forget(self, name: str) -> None:
        """Its description may be another now."""
        self._known.pop(name, None)
        self.host.look_first(name)

    async def reconsidered(self, name: str, refused: InvalidInput) -> HoldfastError:
        """Why a body is not taken: another process may have replaced the learner by whose description it was read.

        Who is refused soon after the last look waits for the next, with all who are refused meanwhile.
        """
        known = self._known.get(name)
        if known is None or not self.database.is_shared:
            return refused
        look = self._looks.get(name)
        if look is None:
            look = self._looks[name] = asyncio.create_task(self._look_again(name, known))
            look.add_done_callback(_hear)
        try:
            await asyncio.shield(look)
            is_same = (await self.blueprint(name)) is known[2]
        except Unavailable:
            return refused
        except HoldfastError as problem:  # it is gone, or one that this version does not know
            return problem
        return refused if is_same else Unavailable(REPLACED)

    async def _look_again(self, name: str, known: tuple[float, str, AnyBlueprint]) -> None:
        await asyncio.sleep(known[0] + LOOKED_AT_AGAIN_S - time.monotonic())
        del self._looks[name]  # whoever is refused from now on needs a later one
        if self._known.get(name) is known:
            self._known[name] = (time.monotonic(), *known[1:])
        await self._refresh(name)

    async def _refresh(self, name: str) -> AnyBlueprint:
        spec = await run_in_threadpool(self._spec, name)
        known = self._known.get(name)
        blueprint = known[2] if known is not None and known[1] == spec else draw(json.loads(spec))
        if len(self._known) >= REMEMBERED_MAX:
            self._known.clear()
        self._known[name] = (time.monotonic(), spec, blueprint)
        return blueprint

    def _spec(self, name: str) -> str:
        with self.database.read() as connection:
            row = learners.find(connection, name)
        if row is None:
            self._known.pop(name, None)
            raise NotFound("learner", "no such learner")
        return row.spec


def _give_up(answer: "asyncio.Future[Any]") -> None:
    if not answer.done():
        problem = Unavailable("the answer took too long; it may still be done, and asking again is safe")
        answer.set_exception(problem)


def _hear(look: "asyncio.Task[None]") -> None:
    """What it failed with, if nobody waits for it any more."""
    if not look.cancelled():
        look.exception()
