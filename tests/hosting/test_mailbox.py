"""Operations on their way to the writer: nothing is lost, and nobody waits for nothing."""

import asyncio
import threading
from concurrent.futures import Future

import numpy as np
import pytest

from holdfast.errors import Unavailable
from holdfast.hosting import mailbox as module
from holdfast.hosting.bring import Import, Observation, Observe
from holdfast.hosting.decide import Decide, Questions
from holdfast.hosting.mailbox import (
    GATHERED_MAX,
    TAKEN_BYTES_MAX,
    TAKEN_MAX,
    WAITING_BYTES_MAX,
    WAITING_MAX,
    Job,
    Mailbox,
)
from holdfast.hosting.once import Once, Rendered
from holdfast.hosting.settle import Settle
from holdfast.store.audit import Actor
from holdfast.store.waiting import on_loop


def jobs(count: int = 1) -> list[Job]:
    return [Job(Settle(f"learner-{place}"), Future()) for place in range(count)]


def of_size(size: int) -> Decide:
    return Decide("home", Questions(["id"] * size, [["a"]] * size, np.zeros((size, 3)), [1] * size, [b""] * size))


def test_what_is_put_in_together_is_taken_together_in_its_order() -> None:
    mailbox, sent = Mailbox(), jobs(5)
    mailbox.put(sent)
    assert len(mailbox) == 5
    assert asyncio.run(on_loop(mailbox.take)) == sent
    assert len(mailbox) == 0


def test_no_more_is_taken_at_once_than_one_transaction_should_hold() -> None:
    mailbox = Mailbox()
    mailbox.put(jobs(TAKEN_MAX + 3))

    async def taken() -> list[int]:
        return [len(await on_loop(mailbox.take)) for _ in range(2)]

    assert asyncio.run(taken()) == [TAKEN_MAX, 3]


def test_a_large_operation_counts_for_as_many_as_it_asks_for_and_is_always_taken() -> None:
    mailbox = Mailbox()
    mailbox.put([Job(of_size(size), Future()) for size in (TAKEN_MAX - 1, 2, 1, 3 * TAKEN_MAX, 1)])

    async def taken() -> list[int]:
        return [len(await on_loop(mailbox.take)) for _ in range(3)]

    assert asyncio.run(taken()) == [2, 2, 1]


def holding(count: int) -> Decide:
    """So many numbers; they take no memory until somebody looks."""
    return Decide("home", Questions(["id"], [["a"]], np.broadcast_to(0.0, (1, count)), [1], [b""]))


def test_every_operation_that_brings_much_says_how_much_it_holds() -> None:
    row = np.zeros(100)
    observations = [Observation(row, "a", 1.0, None, None)] * 3
    brought = [Observe("home", observations), Import("home", bytes(5_000), Actor("k", "me")), holding(7)]
    assert [operation.bytes_held for operation in brought] == [3 * row.nbytes, 5_000, 7 * 8]


def test_what_waits_is_bounded_by_what_it_holds_and_what_comes_alone_is_always_let_in() -> None:
    mailbox, half = Mailbox(), WAITING_BYTES_MAX // 16
    mailbox.put([Job(holding(3 * half), Future())])
    with pytest.raises(Unavailable, match="full"):
        mailbox.put([Job(holding(1), Future())])
    mailbox.put_first(jobs()[0])

    async def taken() -> list[int]:
        return [len(await on_loop(mailbox.take))]

    assert asyncio.run(taken()) == [2]
    mailbox.put([Job(holding(half), Future())])
    mailbox.put([Job(Once(holding(half), "", "", b"", lambda made: Rendered(201, b"")), Future())])
    with pytest.raises(Unavailable, match="full"):
        mailbox.put([Job(holding(1), Future())])
    mailbox.put(jobs())


def test_what_is_taken_at_once_is_bounded_by_what_it_holds() -> None:
    mailbox = Mailbox()
    mailbox.put([Job(holding(TAKEN_BYTES_MAX // 16), Future()) for _ in range(3)])
    mailbox.put(jobs())

    async def taken() -> list[int]:
        return [len(await on_loop(mailbox.take)) for _ in range(2)]

    assert asyncio.run(asyncio.wait_for(taken(), 5)) == [2, 2]
    assert not mailbox.is_worth_a_transaction()


def test_what_must_not_fall_behind_goes_ahead_of_all_who_wait_also_where_no_more_may() -> None:
    mailbox, ahead = Mailbox(), jobs()[0]
    mailbox.put(jobs(WAITING_MAX))
    mailbox.put_first(ahead)
    assert asyncio.run(on_loop(mailbox.take))[0] is ahead
    mailbox.close()
    with pytest.raises(Unavailable, match="stopping"):
        mailbox.put_first(ahead)


def test_whoever_waits_is_woken_from_the_same_thread_and_from_another() -> None:
    mailbox = Mailbox()
    ours, theirs = jobs(), jobs()

    async def both() -> list[list[Job]]:
        asyncio.get_running_loop().call_later(0.02, mailbox.put, ours)
        first = await on_loop(mailbox.take)
        threading.Timer(0.02, mailbox.put, [theirs]).start()
        return [first, await on_loop(mailbox.take)]

    assert asyncio.run(both()) == [ours, theirs]


def test_a_call_that_comes_when_its_job_has_been_taken_wakes_nobody_for_nothing() -> None:
    mailbox, wanted = Mailbox(), jobs()

    async def both() -> list[Job]:
        asyncio.get_running_loop().call_later(0.01, mailbox._answer)
        asyncio.get_running_loop().call_later(0.05, mailbox.put, wanted)
        return await on_loop(mailbox.take)

    assert asyncio.run(both()) == wanted


def test_a_full_mailbox_refuses_and_keeps_what_it_has() -> None:
    mailbox = Mailbox()
    mailbox.put(jobs(WAITING_MAX))
    with pytest.raises(Unavailable, match="queue is full"):
        mailbox.put(jobs())
    assert len(mailbox) == WAITING_MAX


def test_a_closed_mailbox_refuses_and_gives_nothing_once_it_is_empty() -> None:
    mailbox = Mailbox()
    mailbox.put(jobs())
    mailbox.close()
    with pytest.raises(Unavailable, match="stopping"):
        mailbox.put(jobs())

    async def taken() -> list[int]:
        return [len(await on_loop(mailbox.take)) for _ in range(2)]

    assert asyncio.run(taken()) == [1, 0]
    mailbox.close()  # again, when the loop is gone


def test_closing_wakes_whoever_waits() -> None:
    mailbox = Mailbox()

    async def both() -> list[Job]:
        threading.Timer(0.02, mailbox.close).start()
        return await on_loop(mailbox.take)

    assert asyncio.run(both()) == []


def test_much_that_waits_is_not_kept_for_more_and_little_is() -> None:
    async def taken_with(first: int) -> int:
        """How many are taken where one more comes with each turn of the loop."""
        mailbox = Mailbox()
        loop = asyncio.get_running_loop()

        def one_more(left: int) -> None:
            mailbox.put(jobs())
            if left:
                loop.call_soon(one_more, left - 1)

        loop.call_soon(mailbox.put, [Job(of_size(first), Future())])
        loop.call_soon(one_more, 20)
        return len(await on_loop(mailbox.take))

    assert asyncio.run(taken_with(GATHERED_MAX)) < 5
    assert asyncio.run(taken_with(1)) == 22


def test_nobody_waits_for_long_for_others_who_come_and_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GATHERED_WITHIN_S", 0.0)

    async def taken() -> int:
        mailbox = Mailbox()
        mailbox.put(jobs())
        asyncio.get_running_loop().call_soon(mailbox.put, jobs())
        return len(await on_loop(mailbox.take))

    assert asyncio.run(taken()) == 1


def test_what_waits_is_worth_a_transaction_by_its_size_until_it_is_taken() -> None:
    mailbox = Mailbox()
    mailbox.put(jobs(GATHERED_MAX - 2))
    mailbox.put_first(jobs()[0])
    assert not mailbox.is_worth_a_transaction()
    mailbox.put(jobs())
    assert mailbox.is_worth_a_transaction()
    asyncio.run(on_loop(mailbox.take))
    assert not mailbox.is_worth_a_transaction()
