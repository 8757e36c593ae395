"""What a connection carries, byte by byte: the short way of a hot request and the ordinary one answer the same."""

import http.client
import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

PATH = "/v1/learners/home/decisions"
TOUR = {"name": "tour", "kind": "mdp", "episode_length": 2, "features": LEARNER["features"]}
TEMPLATE = "/v1/learners/{name}/decisions"
LARGE = 1024 * 1024
WITHIN_S = 10.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("connections"))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        assert server.post("/v1/learners", TOUR).status_code == 201
        yield server
        said = server.said()
    assert "Traceback" not in said, said
    assert "exception" not in said, said


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
    "large": lambda body: request(PATH, body + b" " * LARGE),
    "with a query": lambda body: request(PATH + "?verbose=1", body),
    "with a query like another address": lambda body: request(PATH + "?next=/episodes/1/finish", body),
    "with a fragment": lambda body: request(PATH + "#/rewards", body),
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


WRONG: dict[str, tuple[int, str, bytes, dict[str, str]]] = {
    "no JSON": (422, PATH, b"{", {}),
    "too many shown": (422, PATH, asking("w", top=9), {}),
    "a boolean": (422, PATH, asking("w").replace(b"0.3", b"true"), {}),
    "nothing at all": (422, PATH, b"", {}),
    "compressed": (422, PATH, asking("w"), {"Content_Encoding": "gzip"}),
    "no such learner": (404, PATH.replace("home", "absent"), asking("w"), {}),
    "no name": (404, PATH.replace("home", ""), asking("w"), {}),
    "an episode of no name": (404, "/v1/learners/tour/episodes//steps", b"{}", {}),
    "a learner of another kind": (409, "/v1/learners/home/episodes", b"{}", {}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_told_in_the_same_words(wire: socket.socket, wrong: str) -> None:
    status, path, body, headers = WRONG[wrong]
    for name in ("r1", "two"):
        told = []
        for way in ("", "?"):
            wire.sendall(request(path + way, body, X_Request_Id=name, **headers))
            told.append(next_answer(wire))
        assert [one[0] for one in told] == [status, status]
        assert told[0][2] == told[1][2]
        assert json.loads(told[0][2])["request_id"] == told[0][1]["x-request-id"] == name


@pytest.mark.parametrize("way", ["", "?"])
def test_of_two_names_for_a_request_the_first_counts(wire: socket.socket, way: str) -> None:
    twice = request(PATH + way, b"{", X_Request_Id="first").replace(b"\r\n\r\n", b"\r\nX-Request-Id: second\r\n\r\n", 1)
    wire.sendall(twice)
    assert next_answer(wire)[1]["x-request-id"] == "first"


@pytest.mark.parametrize("way", ["", "?", "?next=/rewards", "#/finish"])
@pytest.mark.parametrize("episode", ["e1", "a/b", "a\nb"])
def test_an_episode_is_found_by_its_address_alone(server: Server, wire: socket.socket, episode: str, way: str) -> None:
    name = f"{episode}{way}"
    server.post("/v1/learners/tour/episodes", {"episode_id": name})
    wire.sendall(request(f"/v1/learners/tour/episodes/{quote(name, safe='')}/finish{way}", b"{}"))
    status, _, told = next_answer(wire)
    assert (status, json.loads(told)["episode_id"]) == (200, name)


@pytest.mark.parametrize("length", [0, LARGE])
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
    assert refused(wire) == 400


def refused(wire: socket.socket) -> int:
    """The status of the last answer before the connection was closed: a problem, as all are."""
    told = b"".join(iter(lambda: wire.recv(4096), b""))
    head, _, body = told[told.rindex(b"HTTP/1.1 ") :].partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    problem = json.loads(body)
    assert problem.keys() == {"type", "title", "status", "detail", "request_id"}
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    return int(problem["status"])


def test_a_mistake_of_ours_is_answered_and_counted(tmp_path: Path) -> None:
    """Also where nobody expects one."""
    fails = """
from holdfast.api.service import Service
async def fails(*arguments): raise RuntimeError("a mistake")
Service.reconsidered = fails
"""
    with serving(fresh_url("sqlite", tmp_path), prelude=fails) as server:
        server.post("/v1/learners", LEARNER)
        for way in ("", "?"):
            with closing(connected(server)) as wire:
                wire.sendall(request(PATH + way, b"{") + request("/health/live"))
                assert next_answer(wire)[0] == 500
                assert next_answer(wire)[0] == 200
        assert f'holdfast_requests_total{{method="POST",route="{TEMPLATE}",status="5xx"}} 2.0' in metrics(server)
        assert server.said().count("a mistake") >= 2


def metrics(server: Server) -> str:
    return server.http.get("/metrics").text


def test_who_has_sent_half_a_request_is_told_that_the_service_stops(tmp_path: Path) -> None:
    with serving(fresh_url("sqlite", tmp_path)) as server, closing(connected(server)) as wire:
        server.post("/v1/learners", LEARNER)
        wire.sendall(request(PATH, asking("half"))[:-1])
        time.sleep(0.2)
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        assert next_answer(wire)[0] == 503
        assert server.process.wait(WITHIN_S) == 0


def test_who_leaves_many_requests_behind_is_no_mistake_of_ours(server: Server) -> None:
    for _ in range(20):
        with closing(connected(server)) as wire:
            wire.sendall((request("/openapi.json") + request(PATH + "?", asking("left behind"))) * 20)
    assert server.http.get("/health/live").status_code == 200


def test_a_client_of_pythons_own_is_served(server: Server) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, WITHIN_S)) as client:
        for number in range(3):
            client.request("POST", PATH, asking(f"h{number}"), {"Content-Type": "application/json"})
            answer = client.getresponse()
            assert answer.status == 201
            assert json.loads(answer.read())["decision_id"] == f"h{number}"
