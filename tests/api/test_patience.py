"""How long callers wait for the writer: each as long as any other, whoever else waits."""

import asyncio
import time

import pytest

from holdfast.api.patience import Patience
from holdfast.errors import Unavailable

WITHIN_S = 0.1


async def waited(patience: Patience, answer: "asyncio.Future[int]") -> float:
    """How long until they were told to ask again."""
    started = time.monotonic()
    with pytest.raises(Unavailable, match="took too long"):
        await patience.answered(answer)
    return time.monotonic() - started


def test_an_answer_that_comes_in_time_is_given() -> None:
    async def asked() -> object:
        patience, answer = Patience(WITHIN_S), asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(WITHIN_S / 4, answer.set_result, 7)
        return await patience.answered(answer)

    assert asyncio.run(asked()) == 7


def test_a_refusal_is_told_as_it_is() -> None:
    async def asked() -> None:
        patience, answer = Patience(WITHIN_S), asyncio.get_running_loop().create_future()
        answer.set_exception(ZeroDivisionError())
        await patience.answered(answer)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asked())


def test_who_waits_in_vain_is_told_so_after_that_time_and_so_are_those_who_came_later() -> None:
    async def asked() -> list[float]:
        patience, loop = Patience(WITHIN_S), asyncio.get_running_loop()
        first = asyncio.create_task(waited(patience, loop.create_future()))
        await asyncio.sleep(WITHIN_S / 2)
        soon = loop.create_future()
        loop.call_soon(soon.set_result, 7)
        assert await patience.answered(soon) == 7
        second = asyncio.create_task(waited(patience, loop.create_future()))
        return [await first, await second]

    assert all(WITHIN_S * 0.9 < seconds < WITHIN_S * 10 for seconds in asyncio.run(asked()))


def test_after_a_time_without_anybody_the_next_one_is_waited_for_as_long_as_the_first() -> None:
    async def asked() -> float:
        patience, loop = Patience(WITHIN_S), asyncio.get_running_loop()
        await waited(patience, loop.create_future())
        await asyncio.sleep(WITHIN_S)
        return await waited(patience, loop.create_future())

    assert asyncio.run(asked()) > WITHIN_S * 0.9


def test_nothing_is_kept_of_what_was_answered() -> None:
    async def asked() -> int:
        patience, loop = Patience(WITHIN_S), asyncio.get_running_loop()
        for value in range(3):
            answer = loop.create_future()
            answer.set_result(value)
            await patience.answered(answer)
        await waited(patience, loop.create_future())
        return len(patience._since)

    assert asyncio.run(asked()) == 0
