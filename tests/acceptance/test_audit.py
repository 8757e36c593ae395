"""Who did what: every act of an admin is there, with who and what; one that was refused is not."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.engine import URL

from tests.acceptance import cli
from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def key(url: URL) -> str:
    return cli.said(url, "keys", "create", "--role", "admin", "--name", "olga")


@pytest.fixture
def server(url: URL, key: str) -> Iterator[Server]:
    with serving(url, auth="on") as server:
        server.http.headers.update(_headers(key))
        yield server


def _acts(server: Server) -> list[tuple[str, str]]:
    return [(item["act"], item["target"]) for item in server.http.get("/v1/audit").json()["items"]]


def test_every_act_is_noted_with_who_did_it_and_what_it_was(server: Server, key: str, url: URL) -> None:
    server.post("/v1/learners", LEARNER)
    server.post("/v1/learners", LEARNER | {"name": "twin"})
    server.http.patch("/v1/learners/home", json={"mode": "frozen", "reward": {"wait_s": 5}})
    state = server.http.get("/v1/learners/home/state").content
    assert server.http.put("/v1/learners/twin/state", content=state).status_code == 200
    assert server.http.delete("/v1/learners/home").status_code == 204
    items: list[dict[str, Any]] = server.http.get("/v1/audit").json()["items"]
    key_id = key.split("_")[1]
    assert [(item["act"], item["target"], item["actor"], item["key_id"]) for item in items] == [
        ("learner deleted", "home", "olga", key_id),
        ("state imported", "twin", "olga", key_id),
        ("learner changed", "home", "olga", key_id),
        ("learner created", "twin", "olga", key_id),
        ("learner created", "home", "olga", key_id),
        ("key created", key_id, "command line", None),
    ]
    assert items[2]["detail"] == {"mode": "frozen", "reward": {"wait_s": 5.0}}
    assert items[5]["detail"] == {"name": "olga", "role": "admin", "learner": None}
    assert key.split("_", 2)[2] not in str(items)
    assert sorted(item["at"] for item in items) == [item["at"] for item in reversed(items)]


def test_what_was_refused_or_changed_nothing_is_not_noted(server: Server) -> None:
    server.post("/v1/learners", LEARNER)
    before = _acts(server)
    assert server.post("/v1/learners", LEARNER).status_code == 200
    assert server.post("/v1/learners", LEARNER | {"seed": 9}).status_code == 409
    assert server.http.patch("/v1/learners/home", json={"seed": 9}).status_code == 422
    assert server.http.delete("/v1/learners/nothing").status_code == 404
    assert server.http.put("/v1/learners/home/state", content=b"HOLDFAST").status_code == 422
    assert _acts(server) == before


def test_acts_come_in_pages_and_on_the_command_line(server: Server, url: URL) -> None:
    for name in ("a", "b", "c"):
        server.post("/v1/learners", LEARNER | {"name": name})
    first = server.http.get("/v1/audit?limit=3").json()
    rest = server.http.get(f"/v1/audit?limit=3&cursor={first['next_cursor']}").json()
    assert [item["target"] for item in first["items"]] == ["c", "b", "a"]
    assert [item["act"] for item in rest["items"]] == ["key created"]
    assert rest["next_cursor"] is None
    lines = cli.said(url, "audit", "list", "--limit", "2").splitlines()
    assert [line.split("  ")[1:3] for line in lines] == [["learner created", "c"], ["learner created", "b"]]


def test_revoking_a_key_is_noted_and_only_an_admin_of_everything_may_read_it(server: Server, url: URL) -> None:
    read, bound = (
        cli.said(url, "keys", "create", "--role", role, "--name", "n", *more)
        for role, more in (("read", ()), ("admin", ("--learner", "home")))
    )
    assert server.http.get("/v1/audit", headers=_headers(read)).status_code == 403
    assert server.http.get("/v1/audit", headers=_headers(bound)).status_code == 403
    cli.said(url, "keys", "revoke", read.split("_")[1])
    assert _acts(server)[0] == ("key revoked", read.split("_")[1])
