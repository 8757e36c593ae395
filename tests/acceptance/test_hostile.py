"""Hostile requests against a real server: refused, named, never echoed; and the next ordinary request works."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance import hostile_batches, hostile_sessions
from tests.acceptance.hostile import DECIDE, GOOD, HOME, LEARNER, LEARNERS, Hostile, everything
from tests.acceptance.server import Server, serving
from tests.databases import KINDS, fresh_url

GROWTH_MAX_MB = 50.0
REQUESTS_MIN = 30


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(fresh_url(request.param, tmp_path)) as server:
        json_learner = LEARNER | {"name": "json", "features": {"kind": "json"}}
        sessions = LEARNER | {"name": "sessions", "kind": "mdp", "episode_length": 3}
        for body in (LEARNER | {"name": "home"}, json_learner, sessions):
            assert server.post(LEARNERS, body).status_code == 201
        assert server.post(hostile_sessions.EPISODES, {"episode_id": "e"}).status_code == 201
        assert server.post(DECIDE, GOOD | {"decision_id": "known"}).status_code == 201
        yield server


def send(server: Server, hostile: Hostile) -> httpx.Response:
    headers = {"content-type": "application/json"} | hostile.headers
    return server.http.request(hostile.method, hostile.path, content=hostile.body, headers=headers)


def resident_mb(server: Server) -> float:
    assert server.process is not None
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def faults(hostile: Hostile, answer: httpx.Response) -> Iterator[str]:
    """What is wrong with an answer to a hostile request."""
    if not 400 <= answer.status_code < 500 or hostile.status not in (0, answer.status_code):
        yield f"answered {answer.status_code}"
    if answer.headers.get("content-type") != "application/problem+json":
        yield f"is {answer.headers.get('content-type')}"
        return
    problem = answer.json()
    if not {"type", "title", "status", "detail"} <= set(problem) or problem["status"] != answer.status_code:
        yield f"is not a problem document: {problem}"
    if len(answer.content) > 4_000 or "secret-word" in answer.text or "\\ud800" in answer.text:
        yield f"echoes: {answer.text[:200]}"
    errors = problem.get("errors", [])
    if len(errors) > 10 or any(error["pointer"] and not error["pointer"].startswith("/") for error in errors):
        yield f"points badly: {errors}"


def test_every_hostile_request_is_refused_and_costs_its_neighbours_nothing(server: Server) -> None:
    assert server.post(DECIDE, GOOD).status_code == 201
    before, found, count = resident_mb(server), [], 0
    for hostile in (*everything(), *hostile_sessions.everything(), *hostile_batches.everything()):
        count += 1
        found += [f"{hostile.name}: {fault}" for fault in faults(hostile, send(server, hostile))]
    grown = resident_mb(server) - before
    assert not found, "\n".join(found)
    assert count >= REQUESTS_MIN
    assert grown < GROWTH_MAX_MB
    assert server.post(DECIDE, GOOD).status_code == 201
    assert server.http.get(f"{HOME}/diagnostics").json()["decisions"] == 3
    assert [item["name"] for item in server.http.get(LEARNERS).json()["items"]] == ["home", "json", "sessions"]


def raw(server: Server, request: bytes) -> bytes:
    """What the server says to these bytes, after which nothing more comes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    return answer


def test_a_body_that_lies_about_its_length_breaks_nothing(server: Server) -> None:
    head = f"POST {DECIDE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
    chunk = b"%x\r\n%b\r\n" % (1_000_000, b" " * 1_000_000)
    for request in (
        head + b"Content-Length: 1000\r\n\r\n{}",
        head + b"Content-Length: 1\r\n\r\n{}",
        head + b"Content-Length: -1\r\n\r\n{}",
        head + b"Content-Length: 99999999999999999999\r\n\r\n{}",
        head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}",
        b"\x16\x03\x01 not HTTP at all\r\n\r\n",
    ):
        assert b" 500 " not in raw(server, request).partition(b"\r\n")[0], request
    assert server.post(DECIDE, GOOD).status_code == 201
    assert "Traceback" not in server.said()
    try:
        answer = raw(server, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 9 + b"0\r\n\r\n")
    except ConnectionError:
        return  # it stopped listening before everything was sent
    assert b" 413 " in answer.partition(b"\r\n")[0]


def test_a_description_with_many_faults_names_ten_of_them_with_their_places(server: Server) -> None:
    wrong = {f"f{i}": 1 for i in range(50)}
    features = {"kind": "dense", "context": "many", "actions": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}
    answer = server.post(LEARNERS, LEARNER | {"features": features, "corruption": {"budget": []}, **wrong})
    errors = answer.json()["errors"]
    assert len(errors) == 10
    assert errors[0]["pointer"] == "/features/context"
    assert errors[1]["pointer"] == "/features/actions/0"
    budget = server.post(LEARNERS, LEARNER | {"corruption": {"budget": []}}).json()["errors"]
    assert [error["pointer"] for error in budget] == ["/corruption/budget"]


def test_a_fault_inside_a_batch_names_the_decision(server: Server) -> None:
    answer = server.post(f"{DECIDE}/batch", {"decisions": [GOOD, GOOD | {"context": [1]}]})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/decisions/1/context"]


def test_eight_levels_are_enough_for_every_feature_a_batch_can_hold(server: Server) -> None:
    action = {"id": "a", "features": {"namespace": {"array": [1, 2]}}}
    body = {"decisions": [{"context": {"hour": 1}, "actions": [action]}]}
    assert server.post(f"{LEARNERS}/json/decisions/batch", body).status_code == 201
