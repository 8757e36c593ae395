"""Which methods a path takes, and what is said to the others."""

import socket
from collections.abc import Iterator

import pytest

from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("methods"))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        assert server.post("/v1/learners/home/decisions", question(1)).status_code == 201
        yield server


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/learners", "GET, POST, HEAD"),
        ("TRACE", "/v1/learners", "GET, POST, HEAD"),
        ("PUT", "/v1/learners/home", "GET, PATCH, DELETE, HEAD"),
        ("POST", "/v1/learners/home/state", "GET, PUT, HEAD"),
        ("GET", "/v1/learners/home/decisions", "POST"),
        ("DELETE", "/v1/learners/home/decisions/batch", "GET, POST, HEAD"),  # a decision may be called batch
        ("PUT", "/v1/learners/home/episodes/e/steps", "GET, POST, HEAD"),
        ("POST", "/health/live", "GET, HEAD"),
    ],
)
def test_another_method_is_told_all_that_the_path_takes(server: Server, method: str, path: str, allowed: str) -> None:
    answer = server.http.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json()["type"] == "method-not-allowed"


@pytest.mark.parametrize(
    "path",
    [
        "/health/live",
        "/health/ready",
        "/openapi.json",
        "/v1/learners",
        "/v1/learners/home",
        "/v1/learners/absent",
        "/v1/learners/home/log?limit=0",
        "/v1/learners/home/decisions",
        "/v1/learners/home/decisions/d1",
        "/v1/learners/home/state",
        "/nowhere",
    ],
)
def test_head_is_answered_like_get_without_a_body(server: Server, path: str) -> None:
    name = {"X-Request-Id": "the same for both"}
    head, get = server.http.head(path, headers=name), server.http.get(path, headers=name)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    assert int(head.headers["content-length"]) == len(get.content)


def test_head_of_the_metrics_is_counted_as_itself(server: Server) -> None:
    head = server.http.head("/metrics")
    assert (head.status_code, head.content) == (200, b"")
    counted = 'holdfast_requests_total{method="HEAD",route="/metrics",status="2xx"}'
    assert counted in server.http.get("/metrics").text


def test_after_a_head_the_same_connection_answers_what_comes_next(server: Server) -> None:
    request = "{} /v1/learners/home HTTP/1.1\r\nHost: h\r\n{}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall((request.format("HEAD", "") + request.format("GET", "Connection: close\r\n")).encode())
        said = b""
        while part := connection.recv(65_536):
            said += part
    head, get = said.split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert head.endswith(b"\r\n\r\n")
    assert get.endswith(b"}")
