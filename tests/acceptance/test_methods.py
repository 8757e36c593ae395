"""Which methods a path takes, and what is said to the others."""

from collections.abc import Iterator

import pytest

from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER
from tests.databases import fresh_url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("methods"))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/learners", "GET, POST"),
        ("TRACE", "/v1/learners", "GET, POST"),
        ("PUT", "/v1/learners/home", "GET, PATCH, DELETE"),
        ("POST", "/v1/learners/home/state", "GET, PUT"),
        ("GET", "/v1/learners/home/decisions", "POST"),
        ("DELETE", "/v1/learners/home/decisions/batch", "GET, POST"),  # a decision may be called batch
        ("PUT", "/v1/learners/home/episodes/e/steps", "GET, POST"),
        ("POST", "/health/live", "GET"),
    ],
)
def test_another_method_is_told_all_that_the_path_takes(server: Server, method: str, path: str, allowed: str) -> None:
    answer = server.http.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json()["type"] == "method-not-allowed"
