"""Where the writer does its work: on the event loop's thread what is short, on another what takes long."""

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import Any

from holdfast.hosting.blueprint import canonical
from holdfast.hosting.host import Host
from holdfast.hosting.live import LiveLearner
from holdfast.hosting.mailbox import Job
from holdfast.hosting.operation import OneByOne, Operation
from holdfast.store import learners
from holdfast.store.database import Database
from holdfast.store.log import Transaction
from tests.hosting.harness import spec


@dataclass(frozen=True)
class Work(OneByOne):
    """Takes as long as it is told, and says on which thread."""

    learner: str
    seconds: float

    def perform(self, live: LiveLearner, transaction: Transaction, now: int) -> int:
        time.sleep(self.seconds)
        return threading.get_ident()


def on_a_loop(database: Database, *operations: Operation) -> tuple[list[Any], int]:
    """The answers of a host on the running loop, asked one after the other; and how often the loop came round."""
    with database.write() as connection:
        learners.create(connection, "home", canonical(spec()), 0)

    async def both() -> tuple[list[Any], int]:
        host = Host(database, lambda event, **facts: None)
        host.start()
        ticking = asyncio.create_task(_tick())
        answers = []
        for operation in operations:
            answer = asyncio.get_running_loop().create_future()
            host.submit_all([Job(operation, answer)])
            answers.append(await answer)
        ticking.cancel()
        await asyncio.to_thread(host.stop, 10)
        assert not host.lives()
        return answers, ticks

    ticks = 0

    async def _tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    return asyncio.run(both())


def test_what_is_known_to_be_short_is_done_on_the_thread_of_the_loop(database: Database) -> None:
    (unknown, short, again), _ = on_a_loop(database, Work("home", 0.0), Work("home", 0.0), Work("home", 0.0))
    assert unknown != threading.get_ident()
    assert short == again == threading.get_ident()


def test_what_takes_long_is_done_on_another_thread_while_the_loop_goes_on(database: Database) -> None:
    answers, ticks = on_a_loop(database, Work("home", 0.2), Work("home", 0.2))
    assert threading.get_ident() not in answers
    assert ticks > 10  # of about forty; two or three if the loop had to wait


def test_what_turns_out_long_is_done_elsewhere_the_next_time(database: Database) -> None:
    mine = threading.get_ident()
    answers, _ = on_a_loop(database, Work("home", 0.0), Work("home", 0.0), Work("home", 0.1), Work("home", 0.1))
    assert [answer == mine for answer in answers] == [False, True, True, False]
