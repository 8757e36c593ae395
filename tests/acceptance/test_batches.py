"""Batches of decisions over HTTP, against a real server on each database."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.engine import URL

from holdfast.api.hot import TOLD_AT_ONCE
from tests.acceptance.server import Server, serving

BATCH = "/v1/learners/home/decisions/batch"
LEARNER = {"name": "home", "kind": "bandit", "features": {"kind": "dense", "context": 2, "action": 1}}
ACTIONS = [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}]
CONTEXTS = [{"context": [0.1 * n, 0.2], "decision_id": f"d{n}"} for n in range(6)]


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    with serving(url) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server


def test_actions_said_once_are_decided_on_as_if_each_decision_had_said_them(server: Server) -> None:
    shared = server.post(BATCH, {"actions": ACTIONS, "decisions": CONTEXTS})
    assert shared.status_code == 201
    spelled = server.post(BATCH, {"decisions": [{**one, "actions": ACTIONS} for one in CONTEXTS]})
    assert spelled.json() == shared.json()  # the same decisions asked again
    assert server.http.get("/v1/learners/home/diagnostics").json()["decisions"] == len(CONTEXTS)
    for one in shared.json()["decisions"]:
        reward = server.post("/v1/learners/home/rewards", {"decision_id": one["decision_id"], "value": 0.5})
        assert reward.json()["outcome"] == "learned"


def test_a_decision_may_have_actions_of_its_own_beside_the_shared_ones(server: Server) -> None:
    own = [{"id": "c", "features": [0.1]}]
    answer = server.post(BATCH, {"actions": ACTIONS, "decisions": [CONTEXTS[0], CONTEXTS[1] | {"actions": own}]})
    ranked = [{entry["id"] for entry in one["ranking"]} for one in answer.json()["decisions"]]
    assert ranked == [{"a", "b"}, {"c"}]


def test_the_first_answer_again_is_the_first_answer_in_every_mode(server: Server) -> None:
    for mode in ("shadow", "frozen", "online"):
        assert server.http.patch("/v1/learners/home", json={"mode": mode}).status_code == 200
        body = {"actions": ACTIONS, "decisions": [{"context": [0.3, 0.1], "decision_id": mode, "top": 2}]}
        assert server.post(BATCH, body).json() == server.post(BATCH, body).json()


@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_a_large_batch_is_told_as_each_of_its_decisions_is_when_asked_again(server: Server, floor: float) -> None:
    """What is made is told in one way, what is found in the log in another."""
    assert server.post("/v1/learners", LEARNER | {"name": "explorer", "exploration": floor}).status_code == 201
    for mode in ("shadow", "frozen", "online"):
        assert server.http.patch("/v1/learners/explorer", json={"mode": mode}).status_code == 200
        asked = [
            {
                "decision_id": f"{mode} {n}",
                "context": [0.01 * n, 0.2],
                "actions": [{"id": f"{n}.{i}", "features": [0.2 * i - 0.3]} for i in range(1 + n % 4)],
                "top": 1 + (n % 4) // 2,
                "ranking": "chosen" if n % 3 == 0 else "complete",
            }
            for n in range(40)
        ]
        made = server.post("/v1/learners/explorer/decisions/batch", {"decisions": asked})
        assert made.status_code == 201
        alone = [server.post("/v1/learners/explorer/decisions", one).json() for one in asked]
        assert made.json()["decisions"] == alone
        assert [len(one["ranking"]) for one in alone] == [1 if n % 3 == 0 else 1 + n % 4 for n in range(40)]


def test_a_very_large_batch_is_told_like_any_other(server: Server) -> None:
    """On another thread; each again, one by one, it is told on the event loop's."""
    actions = [{"id": str(i), "features": [0.1 * i - 0.5]} for i in range(11)]
    asked = [{"decision_id": f"d{n}", "context": [0.001 * n, 0.2]} for n in range(1_000)]
    assert len(actions) * len(asked) > TOLD_AT_ONCE
    made = server.post(BATCH, {"actions": actions, "decisions": asked}).json()["decisions"]
    assert [one["position"] for one in made] == list(range(1, 1_001))
    for n in (0, 1, 500, 999):
        again = server.post("/v1/learners/home/decisions", asked[n] | {"actions": actions})
        assert again.json() == made[n]


def test_a_batch_of_more_numbers_than_a_batch_may_have_is_too_large(server: Server) -> None:
    features = {"kind": "dense", "context": 40, "action": 48, "joint": "outer"}
    assert server.post("/v1/learners", LEARNER | {"name": "wide", "features": features}).status_code == 201
    actions = [{"id": str(i), "features": [0.1] * 48} for i in range(10)]
    body = {"actions": actions, "decisions": [{"context": [0.1] * 40}] * 500}
    refused = server.post("/v1/learners/wide/decisions/batch", body)
    assert (refused.status_code, refused.json()["type"]) == (413, "too-large")
    assert server.post("/v1/learners/wide/decisions/batch", body | {"decisions": body["decisions"][:3]}).is_success


def test_what_is_wrong_with_shared_actions_is_told_of_them_and_nothing_is_decided(server: Server) -> None:
    bad = [ACTIONS[0], {"id": "b", "features": [1, 2]}]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"decisions": CONTEXTS[:2]}, "/decisions/0/actions"),
        ({"decisions": [CONTEXTS[0] | {"actions": ACTIONS}, CONTEXTS[1]]}, "/decisions/1/actions"),
        ({"actions": bad, "decisions": CONTEXTS}, "/actions/1/features"),
        ({"actions": [ACTIONS[0], ACTIONS[0]], "decisions": CONTEXTS}, "/actions"),
        ({"actions": [], "decisions": CONTEXTS}, "/actions"),
        ({"actions": ACTIONS, "decisions": [CONTEXTS[0], {"context": [1]}]}, "/decisions/1/context"),
        ({"actions": ACTIONS, "decisions": [CONTEXTS[0], CONTEXTS[1] | {"top": 3}]}, "/decisions/1/top"),
        ({"actions": ACTIONS, "decisions": [CONTEXTS[0] | {"actions": bad}]}, "/decisions/0/actions/1/features"),
    ]
    for body, pointer in wrong:
        refused = server.post(BATCH, body)
        assert refused.status_code == 422
        assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert server.http.get("/v1/learners/home/diagnostics").json()["decisions"] == 0
