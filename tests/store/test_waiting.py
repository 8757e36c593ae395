"""Plain code on an event loop's thread: it waits, and the loop goes on."""

import asyncio
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvloop
from sqlalchemy import text

from holdfast.store import engine
from holdfast.store.bulk import driver_of
from holdfast.store.database import Database
from holdfast.store.waiting import apart, give_way, happens, on_loop, turns, until
from tests.databases import fresh_url

SOON_S = 0.05
LONG_S = 5.0


def here(work: Callable[[], Any]) -> Any:
    return work()


def on_a_loop(work: Callable[[], Any]) -> Any:
    return asyncio.run(on_loop(work))


def on_the_loop_of_serve(work: Callable[[], Any]) -> Any:
    return uvloop.run(on_loop(work))


@pytest.mark.parametrize("run", [here, on_a_loop, on_the_loop_of_serve])
def test_what_has_happened_is_told_at_once_and_what_does_not_happen_in_time_is_not(run: Callable[..., Any]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert run(lambda: happens(ours.fileno(), select.POLLIN | select.POLLOUT, LONG_S)) == select.POLLOUT
        assert run(lambda: happens(ours.fileno(), select.POLLIN, 0.0)) == 0
        started = time.monotonic()
        assert run(lambda: happens(ours.fileno(), select.POLLIN, SOON_S)) == 0
        assert time.monotonic() - started >= SOON_S
        theirs.send(b"!")
        assert run(lambda: happens(ours.fileno(), select.POLLIN, LONG_S)) == select.POLLIN


@pytest.mark.parametrize("run", [on_a_loop, on_the_loop_of_serve])
def test_a_socket_can_be_waited_for_again_and_again(run: Callable[..., Any]) -> None:
    ours, theirs = socket.socketpair()

    def work() -> int:
        heard = 0
        for _ in range(500):
            theirs.send(b"!")
            assert happens(ours.fileno(), select.POLLIN, LONG_S) == select.POLLIN
            heard += len(ours.recv(9))
        return heard

    with ours, theirs:
        assert run(work) == 500


def test_while_code_waits_for_a_socket_the_loop_does_what_it_waits_for() -> None:
    ours, theirs = socket.socketpair()

    async def both() -> int:
        waiting = asyncio.create_task(on_loop(lambda: happens(ours.fileno(), select.POLLIN, LONG_S)))
        await asyncio.sleep(SOON_S)
        theirs.send(b"!")
        return await waiting

    with ours, theirs:
        assert asyncio.run(both()) == select.POLLIN


def test_a_socket_that_the_other_end_has_closed_wakes_whoever_waits_for_it() -> None:
    ours, theirs = socket.socketpair()

    async def both() -> int:
        waiting = asyncio.create_task(on_loop(lambda: happens(ours.fileno(), select.POLLIN, LONG_S)))
        await asyncio.sleep(SOON_S)
        theirs.close()
        return await waiting

    with ours:
        assert asyncio.run(both())


def test_what_is_done_apart_runs_on_another_thread_and_only_where_a_loop_would_wait() -> None:
    mine = threading.get_ident()
    assert here(lambda: apart(threading.get_ident)) == mine
    assert on_a_loop(threading.get_ident) == mine
    assert on_a_loop(lambda: apart(threading.get_ident)) != mine
    assert on_a_loop(lambda: apart(lambda: apart(threading.get_ident))) != mine


def test_what_goes_wrong_apart_goes_wrong_in_its_place() -> None:
    def guarded() -> str:
        try:
            return apart(lambda: {}["nothing"])
        except KeyError:
            return "caught"

    assert on_a_loop(guarded) == "caught"


def test_a_fast_commit_stays_on_the_thread_and_a_slow_one_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(engine.connect(fresh_url("sqlite", tmp_path)))
    committed_on: list[int] = []

    def write() -> None:
        with database.write() as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS t (x)"))
            driver_of(connection).set_trace_callback(
                lambda said: committed_on.append(threading.get_ident()) if said == "COMMIT" else None
            )

    monkeypatch.setattr(engine, "SQLITE_COMMIT_IS_SLOW_S", LONG_S)
    on_a_loop(write)
    monkeypatch.setattr(engine, "SQLITE_COMMIT_IS_SLOW_S", 0.0)
    on_a_loop(write)
    database.close()
    assert committed_on[0] == threading.get_ident() != committed_on[1]


def test_who_writes_to_sqlite_while_another_does_waits_its_turn_and_keeps_nobody(tmp_path: Path) -> None:
    database = Database(engine.connect(fresh_url("sqlite", tmp_path)))
    said: list[str] = []

    def write() -> None:
        with database.write() as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS t (x)"))
            said.append("the second has written")

    async def both() -> None:
        with database.write():
            second = asyncio.create_task(on_loop(write))
            await asyncio.sleep(SOON_S)
            said.append("the loop went on")
        await second

    asyncio.run(both())
    database.close()
    assert said == ["the loop went on", "the second has written"]


def test_postgresql_is_waited_for_without_keeping_the_loop(tmp_path: Path) -> None:
    database = Database(engine.connect(fresh_url("postgresql", tmp_path)))
    ticks: list[float] = []

    def slow() -> int:
        with database.write() as connection:
            connection.execute(text("SELECT pg_sleep(0.3)"))  # psycopg's way
            driver_of(connection).ask("SELECT pg_sleep(0.3)")  # our own
            return int(connection.execute(text("SELECT 7")).scalar_one())

    async def both() -> int:
        waiting = asyncio.create_task(on_loop(slow))
        while not waiting.done():
            ticks.append(time.monotonic())
            await asyncio.sleep(0.01)
        return await waiting

    assert asyncio.run(both()) == 7
    database.close()
    assert len(ticks) > 10  # of about sixty; one or two if the loop had to wait


def test_the_turns_of_the_loop_are_counted_while_code_waits() -> None:
    def counted() -> list[int]:
        seen = [turns()]
        give_way()
        seen.append(turns())
        apart(lambda: None)
        return [*seen, turns()]

    assert on_a_loop(counted) == [0, 1, 2]


def test_whoever_gives_way_lets_all_have_their_turn_who_came_before() -> None:
    said: list[str] = []

    def work() -> None:
        asyncio.get_running_loop().call_soon(said.append, "another")
        give_way()
        said.append("the worker")

    on_a_loop(work)
    assert said == ["another", "the worker"]


def test_what_was_called_once_and_again_goes_on_once() -> None:
    def work() -> list[str]:
        loop = asyncio.get_running_loop()

        def twice(go_on: Callable[..., Any]) -> None:
            loop.call_soon(go_on, "first")
            loop.call_soon(go_on, "second")

        told = [until(twice)]
        give_way()
        return [*told, "third"]

    assert on_a_loop(work) == ["first", "third"]


def test_what_goes_wrong_on_a_loop_goes_wrong_for_whoever_awaits_it() -> None:
    with pytest.raises(KeyError):
        on_a_loop(lambda: {}["nothing"])


def test_whoever_no_longer_awaits_it_does_not_stop_it_on_its_way() -> None:
    said: list[str] = []

    def work() -> None:
        try:
            apart(partial(time.sleep, SOON_S))
            said.append("whole")
        except BaseException:
            said.append("stopped")

    async def begin() -> None:
        task = asyncio.create_task(on_loop(work))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await asyncio.sleep(4 * SOON_S)

    asyncio.run(begin())
    assert said == ["whole"]


@pytest.mark.parametrize("run", [on_a_loop, on_the_loop_of_serve])
def test_what_has_happened_in_time_is_told_by_a_loop_that_is_late_itself(run: Callable[..., Any]) -> None:
    ours, theirs = socket.socketpair()

    def work() -> int:
        asyncio.get_running_loop().call_soon(time.sleep, 4 * SOON_S)
        theirs.send(b"!")
        return happens(ours.fileno(), select.POLLIN, SOON_S)

    with ours, theirs:
        assert run(work) == select.POLLIN


def test_a_wait_that_cannot_be_arranged_fails_and_leaves_nothing_behind() -> None:
    calls: list[Callable[..., Any]] = []

    def half_way(go_on: Callable[..., Any]) -> None:
        calls.append(go_on)
        raise KeyError

    def work() -> str:
        with suppress(KeyError):
            until(half_way)
        asyncio.get_running_loop().call_soon(calls[0], "wrong")
        return str(until(lambda go_on: asyncio.get_running_loop().call_later(SOON_S, go_on, "right")))

    assert on_a_loop(work) == "right"
