"""The rate limit over HTTP: by cost, per key, and a refused request has changed nothing."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import URL

from tests.acceptance import cli
from tests.acceptance.server import Server
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

# The learner's dimension is 3 and a question has 2 actions: a decision costs 6, a reward 3, anything else 100.
DECIDE, REWARD = "/v1/learners/home/decisions", "/v1/learners/home/rewards"
BURST = 1_000


@pytest.fixture
def url(tmp_path: Path) -> URL:
    return fresh_url("sqlite", tmp_path)


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    """The rate is so low that nothing comes back during a test."""
    server = Server(url, auth="on")
    server.environment |= {"HOLDFAST_RATE_LIMIT": "0.001", "HOLDFAST_RATE_BURST": str(BURST)}
    try:
        server.start()
        assert server.http.post("/v1/learners", json=LEARNER, headers=_key(url, "admin")).status_code == 201
        yield server
    finally:
        server.close()


def _key(url: URL, role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {cli.said(url, 'keys', 'create', '--role', role, '--name', 'n')}"}


def _decide(server: Server, key: dict[str, str], start: int, count: int) -> httpx.Response:
    body = {"decisions": [question(n) for n in range(start, start + count)]}
    return server.http.post(f"{DECIDE}/batch", json=body, headers=key)


def test_a_key_that_has_spent_its_share_is_refused_and_nothing_happened(server: Server, url: URL) -> None:
    key = _key(url, "decide")
    assert _decide(server, key, 0, 160).status_code == 201  # 960 of 1,000
    refused = _decide(server, key, 160, 10)
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["type"] == "rate-limited"
    assert int(refused.headers["retry-after"]) == pytest.approx(20 / 0.001, rel=0.01)
    assert [server.http.post(DECIDE, json=question(160 + n), headers=key).status_code for n in range(7)] == [
        *[201] * 6,
        429,
    ]
    log = server.http.get("/v1/learners/home/log?after=160", headers=_key(url, "read")).json()["items"]
    assert [event["decision_id"] for event in log] == [f"d{160 + n}" for n in range(6)]


def test_rewards_cost_too_and_keys_do_not_spend_each_others_share(server: Server, url: URL) -> None:
    one, other = _key(url, "decide"), _key(url, "decide")
    assert _decide(server, one, 0, 100).status_code == 201
    rewards = [{"decision_id": f"d{n}", "value": 0.5} for n in range(100)]
    for key, statuses in ((one, [200, 429]), (other, [200, 200])):
        for status in statuses:
            answer = server.http.post(f"{REWARD}/batch", json={"rewards": rewards}, headers=key)
            assert answer.status_code == status
    assert server.http.post(REWARD, json=rewards[0], headers=other).json()["outcome"] == "duplicate"


def test_a_bad_reward_of_a_batch_costs_what_a_good_one_does(server: Server, url: URL) -> None:
    key = _key(url, "reward")
    for status in (200, 429):
        answer = server.http.post(f"{REWARD}/batch", json={"rewards": [{}] * 200}, headers=key)  # 600 of 1,000
        assert answer.status_code == status


def test_a_request_beyond_the_burst_is_answered_once_and_leaves_a_debt(server: Server, url: URL) -> None:
    key = _key(url, "decide")
    assert _decide(server, key, 0, 500).status_code == 201  # 3,000 of 1,000
    assert server.http.post(DECIDE, json=question(501), headers=key).status_code == 429
    assert server.http.post(REWARD, json={"decision_id": "d1", "value": 1.0}, headers=key).status_code == 429


def test_looking_costs_a_little_and_health_nothing(server: Server, url: URL) -> None:
    key = _key(url, "read")
    statuses = [server.http.get("/v1/learners/home", headers=key).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [429]
    assert {server.http.get("/health/ready", headers=key).status_code for _ in range(20)} == {200}
    assert "holdfast_rate_limited_total 1.0" in server.http.get("/metrics").text


def test_a_refused_body_costs_nothing_and_a_wrong_key_has_no_share(server: Server, url: URL) -> None:
    key = _key(url, "decide")
    for _ in range(300):
        assert server.http.post(DECIDE, json={"actions": 1}, headers=key).status_code == 422
    assert _decide(server, key, 0, 160).status_code == 201
    assert server.http.post(DECIDE, json=question(1), headers={"Authorization": "Bearer x"}).status_code == 401


def test_without_authentication_there_is_one_share_for_all(url: URL) -> None:
    server = Server(url)
    server.environment |= {"HOLDFAST_RATE_LIMIT": "0.001", "HOLDFAST_RATE_BURST": "110"}
    try:
        server.start()
        assert server.post("/v1/learners", LEARNER).status_code == 201
        assert [server.post(DECIDE, question(n)).status_code for n in range(2)] == [201, 429]
    finally:
        server.close()
