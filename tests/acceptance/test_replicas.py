"""Several servers on one PostgreSQL."""

import time
from pathlib import Path
from typing import Any

from holdfast.api.service import LOOKED_AT_AGAIN_S
from tests.acceptance.server import serving
from tests.databases import fresh_url

DECISIONS = "/v1/learners/home/decisions"


def learner(context: int) -> dict[str, Any]:
    return {"name": "home", "kind": "bandit", "features": {"kind": "dense", "context": context, "action": 1}}


def question(context: int) -> dict[str, Any]:
    return {"context": [0.1] * context, "actions": [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}]}


def test_what_is_right_for_a_learner_that_another_server_has_replaced_is_not_refused_for_good(tmp_path: Path) -> None:
    url = fresh_url("postgresql", tmp_path)
    with serving(url) as first, serving(url) as second:
        assert first.post("/v1/learners", learner(2)).status_code == 201
        assert second.post(DECISIONS, question(2)).status_code == 201
        assert first.http.delete("/v1/learners/home").status_code == 204
        time.sleep(2 * LOOKED_AT_AGAIN_S)
        assert second.post(DECISIONS, question(3)).status_code == 404
        assert first.post("/v1/learners", learner(2)).status_code == 201
        assert second.post(DECISIONS, question(2)).status_code == 201
        assert first.http.delete("/v1/learners/home").status_code == 204
        assert first.post("/v1/learners", learner(3)).status_code == 201
        time.sleep(2 * LOOKED_AT_AGAIN_S)
        answer = second.post(DECISIONS, question(3))
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert second.post(DECISIONS, question(3)).status_code == 201
        assert second.post(DECISIONS, question(2)).status_code == 422
