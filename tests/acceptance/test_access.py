"""Keys and roles: every route × every role, foreign learners, revoked keys."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

ROUTES = {
    "admin": [
        ("POST", "/v1/learners"),
        ("PATCH", "/v1/learners/home"),
        ("DELETE", "/v1/learners/nothing"),
        ("POST", "/v1/learners/home/events"),
        ("PUT", "/v1/learners/home/state"),
        ("POST", "/v1/learners/home/retractions"),
        ("GET", "/v1/audit"),
    ],
    "decide": [
        ("POST", "/v1/learners/home/decisions"),
        ("POST", "/v1/learners/home/decisions/batch"),
        ("POST", "/v1/learners/home/episodes"),
        ("POST", "/v1/learners/home/episodes/e1/steps"),
        ("POST", "/v1/learners/home/episodes/e1/finish"),
    ],
    "reward": [
        ("POST", "/v1/learners/home/rewards"),
        ("POST", "/v1/learners/home/rewards/batch"),
        ("POST", "/v1/learners/home/episodes/e1/rewards"),
    ],
    "read": [
        ("GET", "/v1/learners"),
        ("GET", "/v1/learners/home"),
        ("GET", "/v1/learners/home/diagnostics"),
        ("GET", "/v1/learners/home/state"),
        ("GET", "/v1/learners/home/log"),
        ("GET", "/v1/learners/home/decisions/d1"),
        ("GET", "/v1/learners/home/episodes/e1"),
    ],
}
MAY = {"admin": set(ROUTES), "decide": {"decide", "reward"}, "reward": {"reward"}, "read": {"read"}}
OPEN = {"/health/live", "/health/ready", "/metrics", "/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc"}


def _cli(server: Server, *words: str) -> str:
    command = [sys.executable, "-c", "from holdfast.cli import app; app()", *words]
    environment = os.environ | server.environment
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def _key(server: Server, role: str, *more: str) -> str:
    return _cli(server, "keys", "create", "--role", role, "--name", role, *more)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("keys")
    with serving(fresh_url("sqlite", folder), auth="on") as server:
        admin = {"Authorization": f"Bearer {_key(server, 'admin')}"}
        server.http.post("/v1/learners", json=LEARNER, headers=admin)
        server.http.post("/v1/learners", json=LEARNER | {"name": "other"}, headers=admin)
        server.http.post("/v1/learners/home/decisions", json=question(1), headers=admin)
        yield server


def _status(server: Server, method: str, path: str, key: str) -> int:
    return server.http.request(method, path, json={}, headers={"Authorization": f"Bearer {key}"}).status_code


@pytest.mark.parametrize("role", MAY)
def test_a_role_may_do_what_it_is_for_and_nothing_else(server: Server, role: str) -> None:
    key = _key(server, role)
    for act, routes in ROUTES.items():
        for method, path in routes:
            status = _status(server, method, path, key)
            assert (status == 403) == (act not in MAY[role]), f"{role} {method} {path}: {status}"
            assert status != 401


def test_no_route_is_without_a_role(server: Server) -> None:
    from holdfast.app import HOT_ROUTES, build
    from holdfast.settings import Settings

    covered = {path.replace("home", "{name}").replace("nothing", "{name}") for rs in ROUTES.values() for _, path in rs}
    covered = {path.replace("/d1", "/{decision_id}").replace("/e1", "/{episode_id}") for path in covered} | OPEN
    documented = build(Settings(auth="off")).openapi()["paths"]
    routes = [(path, method.upper()) for path, methods in documented.items() for method in methods]
    hidden = ("/v1/learners/{name}/retractions", "POST")
    for path, method in [*routes, hidden, *((path, "POST") for path in HOT_ROUTES)]:
        assert path in covered, path
        if path not in OPEN:
            concrete = path.replace("{name}", "home").replace("{decision_id}", "d1").replace("{episode_id}", "e1")
            assert server.http.request(method, concrete, json={}).status_code == 401, (method, path)


def test_a_key_for_one_learner_sees_no_other(server: Server) -> None:
    key = _key(server, "decide", "--learner", "home")
    headers = {"Authorization": f"Bearer {key}", "X-Request-Id": "the same"}
    assert server.http.post("/v1/learners/home/decisions", json=question(5), headers=headers).status_code == 201
    foreign = server.http.post("/v1/learners/other/decisions", json=question(5), headers=headers)
    absent = server.http.post("/v1/learners/absent/decisions", json=question(5), headers=headers)
    assert foreign.status_code == absent.status_code == 404
    assert foreign.json() == absent.json()


def test_a_key_for_one_learner_lists_and_creates_no_other(server: Server) -> None:
    read, admin = ({"Authorization": f"Bearer {_key(server, role, '--learner', 'home')}"} for role in ("read", "admin"))
    listed = server.http.get("/v1/learners", headers=read).json()
    assert [item["name"] for item in listed["items"]] == ["home"]
    for name in ("other", "absent"):  # whether it is there or not
        assert server.http.post("/v1/learners", json=LEARNER | {"name": name}, headers=admin).status_code == 403
    assert server.http.post("/v1/learners", json=LEARNER, headers=admin).status_code == 200


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Bearer hf_1_2", "Basic YTpi", "Bearer hf_0000000000000000_x"]
)
def test_no_key_and_an_unknown_key_are_refused_alike(server: Server, header: str) -> None:
    answer = server.http.get("/v1/learners", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401


def test_a_revoked_key_is_refused_within_five_seconds(server: Server) -> None:
    key = _key(server, "read")
    assert _status(server, "GET", "/v1/learners", key) == 200
    assert _cli(server, "keys", "revoke", key.split("_")[1]) == "revoked"
    deadline = time.monotonic() + 5.0
    while _status(server, "GET", "/v1/learners", key) != 401:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_list_of_keys_holds_no_secret(server: Server) -> None:
    key = _key(server, "read")
    listed = _cli(server, "keys", "list")
    assert key.split("_")[1] in listed
    assert key.split("_", 2)[2] not in listed
