"""The OpenAPI document: committed, complete, and no request made from it breaks a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error

from holdfast.api import answers, openapi, schemas
from holdfast.app import HOT_ROUTES, build
from holdfast.settings import Settings
from tests.acceptance.server import Server, serving
from tests.databases import fresh_url

COMMITTED = Path(__file__).parent.parent.parent / "openapi.json"
CASES_MIN = 300

document = json.loads(COMMITTED.read_text(encoding="utf-8"))
operations = [(path, method) for path, methods in document["paths"].items() for method in methods]
schema = schemathesis.openapi.from_dict(document)
cases: list[str] = []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(fresh_url("sqlite", tmp_path_factory.mktemp("openapi"))) as server:
        example = schemas.EXAMPLES[schemas.LearnerBody]
        features = {"kind": "dense", "context": 2, "action": 1}
        assert server.post("/v1/learners", example | {"features": features}).status_code == 201
        sessions = {"name": "sessions", "kind": "mdp", "episode_length": 3}
        assert server.post("/v1/learners", example | {"features": features} | sessions).status_code == 201
        assert server.post("/v1/learners/sessions/episodes", {"episode_id": "e1"}).status_code == 201
        yield server


def test_the_committed_document_is_that_of_the_code() -> None:
    assert document == build(Settings()).openapi(), "run `make openapi` and commit the result"


def test_every_route_that_is_served_is_described() -> None:
    assert set(openapi.HOT_ROUTES) == set(HOT_ROUTES)
    assert set(HOT_ROUTES) <= set(document["paths"])


@pytest.mark.parametrize(("path", "method"), operations)
def test_every_operation_has_a_name_a_summary_and_an_example_of_its_body(path: str, method: str) -> None:
    operation = document["paths"][path][method]
    assert operation["operationId"].isidentifier()
    assert operation["summary"]
    if method in ("post", "patch"):
        assert operation["requestBody"]["content"]["application/json"]["example"]


def test_the_examples_work_and_the_answers_are_as_described(server: Server) -> None:
    for path, route in openapi.HOT_ROUTES.items():
        learner = "sessions" if "/episodes" in path else "home-page"
        answer = server.post(path.replace("{name}", learner).replace("{episode_id}", "e1"), route.example)
        assert answer.status_code == route.status
        for body in (answer.content, msgspec.json.encode(route.answer_example)):
            msgspec.json.decode(body, type=route.answer)
    bad = server.post("/v1/learners/home-page/rewards/batch", {"rewards": [1]})
    msgspec.json.decode(bad.content, type=answers.RewardsAnswer)
    refused = server.post("/v1/learners", {})
    msgspec.json.decode(refused.content, type=answers.Problem)
    example: Any = schemas.EXAMPLES[schemas.LearnerChange] | {"mode": "online"}
    assert server.http.patch("/v1/learners/home-page", json=example).status_code == 200


@schema.parametrize()
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_no_request_made_from_the_document_breaks_the_server(case: schemathesis.Case, server: Server) -> None:
    cases.append(case.operation.label)
    if "name" in case.path_parameters and len(cases) % 2:
        case.path_parameters["name"] = "sessions" if "/episodes" in case.path else "home-page"
        if "episode_id" in case.path_parameters:
            case.path_parameters["episode_id"] = "e1"
    case.call_and_validate(base_url=str(server.http.base_url), checks=[not_a_server_error])


def test_enough_such_requests_were_made(server: Server) -> None:
    """By the test above, of which this is the end."""
    assert len(cases) >= CASES_MIN
    assert server.http.get("/health/ready").status_code == 200
