"""What a connection carries, byte by byte: the short way of a hot request and the ordinary one answer the same."""

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from holdfast.api.exchange import BODY_BYTES_MAX
from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

PATH = "/v1/learners/home/decisions"
TEMPLATE = "/v1/learners/{name}/decisions"
WITHIN_S = 10.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("connections"))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server


@pytest.fixture
def wire(server: Server) -> Iterator[socket.socket]:
    with connected(server) as wire:
        yield wire


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), WITHIN_S)


def request(path: str, body: bytes | None = None, version: str = "1.1", **headers: str) -> bytes:
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/{version}\r\nHost: x\r\n"
    lengths = {} if body is None or "Transfer_Encoding" in headers else {"Content-Length": str(len(body))}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in (lengths | headers).items())
    return f"{head}{lines}\r\n".encode() + (body or b"")


def asking(name: str, **changes: Any) -> bytes:
    return json.dumps(question(1, decision_id=name, **changes)).encode()


def next_answer(wire: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Without a byte of what comes behind it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = wire.recv(1)
        assert byte, head
        head += byte
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    length, body = int(headers.get("content-length", 0)), b""
    while len(body) < length:
        body += wire.recv(length - len(body))
    return int(first.split()[1]), headers, body


def decided(wire: socket.socket) -> str:
    status, _, body = next_answer(wire)
    assert status == 201, body
    name: str = json.loads(body)["decision_id"]
    return name


def is_closed(wire: socket.socket) -> bool:
    return wire.recv(1) == b""


def test_requests_that_come_together_are_answered_one_after_the_other(wire: socket.socket) -> None:
    both = request(PATH, asking("t1")) + request(PATH, asking("t2"))
    wire.sendall(both + request("/health/live") + request(PATH, asking("t3")) + request(PATH, asking("t4")))
    assert [decided(wire), decided(wire)] == ["t1", "t2"]
    assert next_answer(wire)[0] == 200
    assert [decided(wire), decided(wire)] == ["t3", "t4"]
    wire.sendall(request(PATH, asking("t5")))
    assert decided(wire) == "t5"


def test_a_request_may_come_in_any_pieces(wire: socket.socket) -> None:
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    whole = request(PATH, asking("p1"), Connection="keep-alive")
    for start in range(0, len(whole), 7):
        wire.sendall(whole[start : start + 7])
    assert decided(wire) == "p1"


CHUNKED = "{:x}\r\n{}\r\n0\r\n\r\n"
UNUSUAL: dict[str, Callable[[bytes], bytes]] = {
    "in chunks": lambda body: request(
        PATH, CHUNKED.format(len(body), body.decode()).encode(), Transfer_Encoding="chunked"
    ),
    "large": lambda body: request(PATH, body + b" " * BODY_BYTES_MAX),
    "with a query": lambda body: request(PATH + "?verbose=1", body),
    "to an address with an escape": lambda body: request(PATH.replace("home", "%68ome"), body),
    "to a whole address": lambda body: request("http://x" + PATH, body),
    "with headers of its own": lambda body: request(PATH, body, X_Other="1", Accept="*/*"),
}


@pytest.mark.parametrize("how", UNUSUAL)
def test_a_request_is_answered_the_same_however_it_is_sent(server: Server, wire: socket.socket, how: str) -> None:
    body = asking(f"same {how}")
    wire.sendall(request(PATH, body, X_Request_Id="first"))
    status, headers, first = next_answer(wire)
    assert (status, headers["x-request-id"]) == (201, "first")
    wire.sendall(UNUSUAL[how](body))
    status, again, second = next_answer(wire)
    assert (status, second) == (201, first)
    assert set(again) == set(headers)
    assert again["content-type"] == headers["content-type"]


@pytest.mark.parametrize("way", ["", "?"])
def test_what_is_wrong_is_told_the_same_way(wire: socket.socket, way: str) -> None:
    told = []
    for body in (b"{", asking("w", top=9), asking("w", top=9).replace(b"0.3", b"true")):
        wire.sendall(request(PATH + way, body, X_Request_Id="r"))
        told.append(next_answer(wire)[2])
    wire.sendall(request(PATH.replace("home", "absent") + way, asking("w"), X_Request_Id="r"))
    told.append(next_answer(wire)[2])
    assert [json.loads(problem)["status"] for problem in told] == [422, 422, 422, 404]
    assert all(json.loads(problem)["request_id"] == "r" for problem in told)


@pytest.mark.parametrize("length", [0, BODY_BYTES_MAX])
def test_who_asks_whether_to_go_on_is_told_so_first(wire: socket.socket, length: int) -> None:
    whole = request(PATH, asking(f"e{length}") + b" " * length, Expect="100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    wire.sendall(head + b"\r\n\r\n")
    assert next_answer(wire)[0] == 100
    wire.sendall(body)
    assert decided(wire) == f"e{length}"


@pytest.mark.parametrize(("version", "headers"), [("1.0", {}), ("1.1", {"Connection": "close"})])
def test_a_connection_ends_where_the_caller_wants_it_to(
    wire: socket.socket, version: str, headers: dict[str, str]
) -> None:
    wire.sendall(request(PATH, asking(f"c{version}"), version, **headers))
    status, told, _ = next_answer(wire)
    assert (status, told["connection"]) == (201, "close")
    assert is_closed(wire)


def test_every_way_is_counted_with_its_route(server: Server, wire: socket.socket) -> None:
    def counted() -> float:
        told = server.http.get("/metrics").text.splitlines()
        line = f'holdfast_requests_total{{method="POST",route="{TEMPLATE}",status="2xx"}}'
        return sum(float(one.rpartition(" ")[2]) for one in told if one.startswith(line))

    before = counted()
    for number, unusual in enumerate([*UNUSUAL.values(), lambda body: request(PATH, body)]):
        wire.sendall(unusual(asking(f"counted {number}")))
        decided(wire)
    assert counted() == before + len(UNUSUAL) + 1


def test_a_caller_who_leaves_in_the_middle_of_a_request_has_asked_for_nothing(server: Server) -> None:
    with closing(connected(server)) as wire:
        wire.sendall(request(PATH, asking("left"))[:-1])
    with closing(connected(server)) as wire:
        wire.sendall(request(PATH, asking("left", top=2)))
        assert decided(wire) == "left"  # and no conflict


def test_a_caller_who_leaves_before_the_answer_finds_it_again(server: Server) -> None:
    with closing(connected(server)) as wire:
        wire.sendall(request(PATH, asking("gone")))
    with closing(connected(server)) as wire:
        wire.sendall(request(PATH, asking("gone")))
        assert decided(wire) == "gone"


def test_what_is_no_http_is_refused_and_the_connection_closed(wire: socket.socket) -> None:
    wire.sendall(request(PATH, asking("before")) + b"\x00\x01 nonsense\r\n\r\n")
    told = b"".join(iter(lambda: wire.recv(4096), b""))
    assert told.startswith(b"HTTP/1.1 400 ")


def test_a_caller_who_reads_nothing_is_not_read_from_without_end(server: Server, wire: socket.socket) -> None:
    """What waits for it would have to be kept."""
    batch = {"decisions": [question(1, decision_id=None)] * 500}
    many = request(PATH + "/batch", json.dumps(batch).encode()) * 10
    wire.settimeout(2.0)
    with pytest.raises(TimeoutError):
        send_often(wire, many)
    assert server.http.get("/health/live").status_code == 200


def send_often(wire: socket.socket, what: bytes) -> None:
    for _ in range(50):
        wire.sendall(what)


def test_a_client_of_pythons_own_is_served(server: Server) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, WITHIN_S)) as client:
        for number in range(3):
            client.request("POST", PATH, asking(f"h{number}"), {"Content-Type": "application/json"})
            answer = client.getresponse()
            assert answer.status == 201
            assert json.loads(answer.read())["decision_id"] == f"h{number}"
