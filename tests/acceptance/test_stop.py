"""SIGTERM: whatever is going on, the process drains, saves and ends well within ten seconds."""

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.engine import URL

from holdfast.store.database import Database
from holdfast.store.engine import connect
from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question

CALLERS = 8


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    with serving(url) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server


@pytest.fixture
def database(url: URL) -> Iterator[Database]:
    database = Database(connect(url))
    yield database
    database.close()


def _call(server: Server, caller: int, acknowledged: list[str], failed: list[int]) -> None:
    """Decide until the server is gone."""
    with httpx.Client(base_url=server.http.base_url, timeout=20) as http:
        for number in range(100_000):
            decision_id = f"{caller}-{number}"
            try:
                answer = http.post("/v1/learners/home/decisions", json=question(number, decision_id=decision_id))
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                acknowledged.append(decision_id)
            elif answer.status_code != 503:
                failed.append(answer.status_code)


def _one(database: Database, query: str) -> int:
    with database.read() as connection:
        return int(connection.execute(text(query)).scalar_one())


def test_under_load_it_drains_saves_and_loses_nothing(server: Server, database: Database) -> None:
    acknowledged: list[str] = []
    failed: list[int] = []
    callers = [
        threading.Thread(target=_call, args=(server, caller, acknowledged, failed), daemon=True)
        for caller in range(CALLERS)
    ]
    for caller in callers:
        caller.start()
    while len(acknowledged) < 20 * CALLERS:
        callers[0].join(0.01)
        assert callers[0].is_alive()
    assert server.stop() == 0
    for caller in callers:
        caller.join(20)
    assert failed == []
    head = _one(database, "SELECT head FROM learners")
    assert head >= len(acknowledged)
    assert _one(database, "SELECT max(position) FROM snapshots") == head
    with database.read() as connection:
        logged = set(connection.execute(text("SELECT event_id FROM events")).scalars())
    assert {f"d/{decision_id}" for decision_id in acknowledged} <= logged


def test_a_caller_that_never_finishes_its_request_does_not_hold_it_up(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(b"POST /v1/learners/home/decisions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        server.http.get("/health/live")
        assert server.stop() == 0


def test_a_database_that_does_not_answer_does_not_hold_it_up(server: Server, database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE learners SET paused = paused"))
        answers: list[int] = []
        call = threading.Thread(target=lambda: answers.append(_status(server)), daemon=True)
        call.start()
        call.join(0.5)  # until it waits for the lock
        assert call.is_alive()
        assert server.stop() == 0
    call.join(20)
    assert answers == [503]


RECOVERS_SLOWLY = """
import time
from holdfast.hosting import host
host.revive = lambda *arguments: time.sleep(60)
"""


def test_a_learner_that_takes_long_to_recover_does_not_hold_it_up(url: URL) -> None:
    with serving(url, prelude=RECOVERS_SLOWLY) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        call = threading.Thread(target=_status, args=(server,), daemon=True)
        call.start()
        call.join(0.5)  # until it is being recovered
        assert call.is_alive()
        assert server.stop() == 0
    call.join(20)


EVERYTHING_HANGS = (
    RECOVERS_SLOWLY
    + """
import threading
from holdfast.hosting import sweep
from holdfast.store.database import Database
sweep.overdue = lambda *arguments: time.sleep(60)
Database._answers = lambda self: threading.current_thread().name != "holdfast-lookout" or time.sleep(60)
real = host.Host.stop
def stop(self, timeout_s):
    self._database._presence.lost()
    real(self, timeout_s)
host.Host.stop = stop
"""
)


def test_a_request_the_sweep_and_the_lookout_that_all_hang_do_not_hold_it_up(url: URL) -> None:
    with serving(url, prelude=EVERYTHING_HANGS) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        call = threading.Thread(target=_status, args=(server,), daemon=True)
        call.start()
        call.join(0.5)  # until its learner is being recovered
        assert call.is_alive()
        assert server.stop() == 0
    call.join(20)


def _status(server: Server) -> int:
    try:
        return httpx.post(
            f"{server.http.base_url}/v1/learners/home/decisions", json=question(1), timeout=20
        ).status_code
    except httpx.TransportError:
        return 0
