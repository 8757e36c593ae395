"""Request ids on every answer, and a log that has them and nothing that was sent."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

# Every kind of answer: hot and not, good, refused, unknown, wrong method, not the framework's.
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/learners/home/decisions", question(1)),
    ("POST", "/v1/learners/home/decisions", {"secret-word": 1}),
    ("POST", "/v1/learners/home/rewards", {"decision_id": "never", "value": 1.0}),
    ("POST", "/v1/learners/absent/rewards", {"decision_id": "d1", "value": 1.0}),
    ("POST", "/v1/learners", {"name": "secret-word"}),
    ("GET", "/v1/learners/home", None),
    ("GET", "/v1/learners/home/log?limit=secret-word", None),
    ("GET", "/health/ready", None),
    ("GET", "/openapi.json", None),
    ("GET", "/nowhere", None),
    ("DELETE", "/v1/learners", None),
]
BROKEN = """
from holdfast.hosting.look import Look
from holdfast.hosting.decide import Decide
def broken(*_):
    raise RuntimeError("on purpose")
Look.perform_all = Decide.perform_all = broken
"""


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    prelude = getattr(request, "param", "")
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("watch")), prelude=prelude) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server


def _lines(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.said().splitlines() if line.startswith("{")]


def _logged(server: Server, name: str) -> list[dict[str, Any]]:
    """The lines about one request; the answer may be there a moment before them."""
    deadline = time.monotonic() + 5.0
    while not (found := [line for line in _lines(server) if line.get("request_id") == name]):
        assert time.monotonic() < deadline, server.said()
        time.sleep(0.01)
    return found


def test_every_answer_carries_an_id_and_every_problem_repeats_it(server: Server) -> None:
    seen = set()
    for method, path, body in REQUESTS:
        answer = server.http.request(method, path, json=body)
        (name,) = answer.headers.get_list("x-request-id")
        seen.add(name)
        if answer.status_code >= 400:
            assert answer.json()["request_id"] == name, path
    assert len(seen) == len(REQUESTS)


@pytest.mark.parametrize("path", ["/v1/learners/home", "/nowhere"])
@pytest.mark.parametrize("given", ["a", "7f3c checkout/1", "x" * 128])
def test_a_sane_id_is_given_back(server: Server, path: str, given: str) -> None:
    assert server.http.get(path, headers={"X-Request-Id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", [b"x" * 129, "é".encode(), b"tab\there", b""])
def test_another_is_replaced(server: Server, given: bytes) -> None:
    answer = server.http.post("/v1/learners/home/decisions", json=question(1), headers={b"X-Request-Id": given})
    assert answer.status_code == 201
    assert answer.headers["x-request-id"].encode() != given
    assert answer.headers["x-request-id"].isascii()


@pytest.mark.parametrize("server", [BROKEN], indirect=True)
def test_a_failure_is_logged_with_its_id_and_without_what_was_sent(server: Server) -> None:
    for name, method, path, body in (
        ("cold", "GET", "/v1/learners/home/diagnostics?secret-word=1", None),
        ("hot", "POST", "/v1/learners/home/decisions", question(1, decision_id="secret-word")),
    ):
        headers = {"X-Request-Id": name, "Authorization": "Bearer secret-word"}
        answer = server.http.request(method, path, json=body, headers=headers)
        assert answer.status_code == 500
        assert answer.json()["request_id"] == name
        (logged,) = _logged(server, name)
        assert logged["level"] == "error"
        assert "on purpose" in logged["exception"]
    assert "secret-word" not in server.said()
    assert not [line for line in server.said().splitlines() if line.startswith("Traceback")]


def test_refusals_are_not_logged_and_nothing_else_is_printed(server: Server) -> None:
    for method, path, body in REQUESTS:
        server.http.request(method, path, json=body)
    assert _lines(server) == []


def test_an_access_log_can_be_asked_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = Server(fresh_url("sqlite", tmp_path_factory.mktemp("access")))
    server.environment["HOLDFAST_ACCESS_LOG"] = "on"
    try:
        server.start()
        server.http.get("/v1/learners/none?x=secret-word", headers={"X-Request-Id": "mine"})
        (line,) = _logged(server, "mine")
        assert (line["event"], line["method"], line["path"], line["status"]) == (
            "request",
            "GET",
            "/v1/learners/none",
            404,
        )
        assert "secret-word" not in server.said()
    finally:
        server.close()
