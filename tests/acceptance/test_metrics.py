"""/metrics of a real server: what was done is what is told, and the dashboard asks for nothing that is not there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

DASHBOARD = Path(__file__).parent.parent.parent / "deploy/grafana/dashboards/holdfast.json"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """After some traffic."""
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("metrics"))) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        for number in range(3):
            server.post("/v1/learners/home/decisions", question(number))
        server.post("/v1/learners/home/decisions/batch", {"decisions": [question(n) for n in range(5, 10)]})
        for _ in range(2):
            server.post("/v1/learners/home/rewards", {"decision_id": "d1", "value": 1.0})
        server.post("/v1/learners/home/rewards", {"decision_id": "never", "value": 1.0})
        for path in ("/v1/learners/home", "/v1/learners/absent", "/nowhere", "/v2/x"):
            server.http.get(path)
        server.http.patch("/v1/learners/home", json={"mode": "online"})
        yield server


def _samples(server: Server) -> Samples:
    families = text_string_to_metric_families(server.http.get("/metrics").text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def _one(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def test_what_was_done_is_told(server: Server) -> None:
    samples = _samples(server)
    assert _one(samples, "holdfast_decisions_total") == 8
    assert _one(samples, "holdfast_rewards_total", outcome="learned") == 1
    assert _one(samples, "holdfast_rewards_total", outcome="duplicate") == 1
    assert _one(samples, "holdfast_rewards_total", outcome="late") == 0
    assert _one(samples, "holdfast_live_learners") == 1
    assert _one(samples, "holdfast_queue_operations") == 0
    assert _one(samples, "holdfast_unavailable_total") == 0
    assert _one(samples, "holdfast_batch_operations_count") >= 7
    assert _one(samples, "process_resident_memory_bytes") > 1e6


def test_requests_are_told_by_the_template_of_their_route(server: Server) -> None:
    samples = _samples(server)
    decisions, learner = "/v1/learners/{name}/decisions", "/v1/learners/{name}"
    told = {
        (decisions, "POST", "2xx"): 3,
        (decisions + "/batch", "POST", "2xx"): 1,
        ("/v1/learners/{name}/rewards", "POST", "2xx"): 2,
        ("/v1/learners/{name}/rewards", "POST", "4xx"): 1,
        (learner, "GET", "2xx"): 1,
        (learner, "GET", "4xx"): 1,
        (learner, "PATCH", "2xx"): 1,
        ("other", "GET", "4xx"): 2,
    }
    for (route, method, status), count in told.items():
        assert _one(samples, "holdfast_requests_total", route=route, method=method, status=status) == count, route
    assert _one(samples, "holdfast_request_seconds_count", route=decisions) == 3
    assert _one(samples, "holdfast_request_seconds_bucket", route=decisions, le="+Inf") == 3


def test_no_label_holds_a_name_that_a_caller_chose(server: Server) -> None:
    values = {value for (name, labels) in _samples(server) if name.startswith("holdfast_") for _, value in labels}
    assert not {"home", "absent", "d1", "/nowhere", "local"} & values
    assert not any("home" in value or "nowhere" in value for value in values)


def test_every_metric_of_the_dashboard_exists(server: Server) -> None:
    names = {name for name, _ in _samples(server)}
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"\b(?:holdfast|process|python)_[a-z_]+", target["expr"])
    }
    assert len(asked) > 15
    assert asked <= names, asked - names
