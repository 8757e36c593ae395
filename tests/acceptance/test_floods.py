"""What one connection may send, hold and leave unread: little, and it keeps nobody else from anything."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from holdfast.api.exchange import HEAD_BYTES_MAX, HEADERS_MAX, WAITING_MAX
from tests.acceptance.server import Server, serving
from tests.acceptance.test_connections import LARGE, PATH, asking, connected, decided, next_answer, refused, request
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("floods"))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server
        said = server.said()
    assert "Traceback" not in said, said


@pytest.fixture
def wire(server: Server) -> Iterator[socket.socket]:
    with connected(server) as wire:
        yield wire


def sent_until_refused(wire: socket.socket, beginning: bytes, more: bytes) -> int:
    """How many bytes were taken."""
    wire.sendall(beginning)
    taken = len(beginning)
    with suppress(OSError):
        while taken < 64 * LARGE:
            time.sleep(0.001)
            wire.sendall(more)
            taken += len(more)
    return taken


@pytest.mark.parametrize(
    ("beginning", "more"),
    [
        (b"GET /health/live HTTP/1.1\r\nX-Long: ", b"v" * 16_384),
        (b"GET /health/live?", b"u" * 16_384),
        (b"POST /v1/learners/home/decisions HTTP/1.1\r\n", b"X-N: v\r\n" * 10),
        (b"POST /v1/learners/home/decisions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"v" * 16_384),
        (b"GET /health/live HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X-N: v\r\n" * 10),
    ],
)
def test_a_head_without_end_is_refused_and_kept_from_nobody(server: Server, beginning: bytes, more: bytes) -> None:
    """Whoever sends on may find the connection closed before the answer is read."""
    with closing(connected(server)) as wire:
        assert sent_until_refused(wire, beginning, more) < 16 * LARGE
        with suppress(ConnectionError):
            assert refused(wire) == 431
    assert server.http.get("/health/live").status_code == 200


def test_a_long_head_or_many_headers_are_told_what_is_too_long(server: Server) -> None:
    with closing(connected(server)) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\n" + b"X: v\r\n" * (HEADERS_MAX + 1) + b"\r\n")
        assert refused(wire) == 431
    with closing(connected(server)) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nX: ")
        time.sleep(0.1)
        wire.sendall(b"v" * (HEAD_BYTES_MAX + 1))
        assert refused(wire) == 431
    with closing(connected(server)) as wire:
        many = {f"X-{number}": "v" for number in range(HEADERS_MAX - 1)}  # and Host
        for headers in ({"X-Long": "v" * 60_000}, many):
            whole = request(PATH, asking("fits") + b" " * LARGE) + request("/health/live", **headers)
            wire.sendall(whole[:-100])  # the end of a body, and of a head only the beginning
            assert decided(wire) == "fits"
            wire.sendall(whole[-100:])
            assert next_answer(wire)[0] == 200


@pytest.mark.parametrize(
    "sent", [request("/health/live") + b"\r\n", request(PATH, b"{" * 100)[:-1].replace(b"home", b"/"), b"GET /"]
)
def test_a_connection_on_which_nothing_comes_is_closed(wire: socket.socket, sent: bytes) -> None:
    wire.sendall(sent)
    while wire.recv(4096):  # the answer, if there is one
        pass


def test_few_requests_may_wait_on_one_connection_and_very_many_are_refused(server: Server) -> None:
    one = request("/health/live")
    with closing(connected(server)) as wire:
        wire.sendall(one * WAITING_MAX)
        assert {next_answer(wire)[0] for _ in range(WAITING_MAX)} == {200}
        wire.sendall(one * WAITING_MAX * 4)
        assert refused(wire) == 400
    for _ in range(20):
        with closing(connected(server)) as wire:
            sent_until_refused(wire, b"", one * 10_000)
    before = memory_bytes(server)
    for _ in range(20):
        with closing(connected(server)) as wire:
            sent_until_refused(wire, b"", one * 10_000)
    assert memory_bytes(server) - before < 16 * LARGE


def memory_bytes(server: Server) -> int:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def test_requests_that_wait_are_not_read_behind(server: Server, wire: socket.socket) -> None:
    """What waits for it would have to be kept: the caller's own system keeps it instead."""
    wire.settimeout(2.0)
    slow = request(PATH + "/batch", json.dumps({"decisions": [question(1, decision_id=None)] * 500}).encode())
    with pytest.raises(TimeoutError):
        send_often(wire, slow)
    assert server.http.get("/health/live").status_code == 200


def send_often(wire: socket.socket, what: bytes) -> None:
    for _ in range(300):
        wire.sendall(what)


def test_a_caller_who_does_not_read_gets_every_answer_later(wire: socket.socket) -> None:
    batch = json.dumps({"decisions": [question(1, decision_id=None)] * 500}).encode()
    for _ in range(20):
        wire.sendall(request(PATH + "/batch", batch))
        time.sleep(0.02)  # one at a time, so that they go the short way
    for _ in range(20):
        status, _, body = next_answer(wire)
        assert (status, len(json.loads(body)["decisions"])) == (201, 500)


def test_answers_that_nobody_reads_do_not_pile_up(server: Server, wire: socket.socket) -> None:
    actions = [{"id": f"item {i}", "features": [i / 50]} for i in range(50)]
    batch = {"actions": actions, "decisions": [{"context": [0.1, 0.2]}] * 200}
    asked, before = request(PATH + "/batch", json.dumps(batch).encode()), memory_bytes(server)
    for _ in range(100):
        wire.sendall(asked)
        time.sleep(0.03)  # one at a time, so that they go the short way
    assert memory_bytes(server) - before < 48 * LARGE
    assert len(next_answer(wire)[2]) * 100 > 90_000_000


def test_who_sends_no_valid_key_is_told_before_the_body(tmp_path: Path) -> None:
    with serving(fresh_url("sqlite", tmp_path), auth="on") as server, closing(connected(server)) as wire:
        wire.sendall(request(PATH, b" " * LARGE)[:-1])
        assert next_answer(wire)[0] == 401
