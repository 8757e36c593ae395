"""A live server, a learner without a past, and a client of either kind."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from holdfast_client import Client
from holdfast_client.simulator.network import Weather
from tests.acceptance.server import Server
from tests.client.twins import TWINS, make_client

Make = Callable[..., Client]


@pytest.fixture
def server(live_server: Server) -> Server:
    names = [item["name"] for item in live_server.http.get("/v1/learners").json()["items"]]
    for name in names:
        live_server.http.delete(f"/v1/learners/{name}")
    features = {"kind": "dense", "context": 2, "action": 1}
    body = {"name": "home", "kind": "bandit", "features": features}
    assert live_server.post("/v1/learners", body).status_code == 201
    return live_server


@pytest.fixture(params=TWINS)
def twin(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def make(twin: str) -> Iterator[Make]:
    """Makes clients and closes them at the end."""
    with ExitStack() as stack:

        def made(url: str, weather: Weather | None = None, **settings: Any) -> Client:
            return stack.enter_context(make_client(twin, url, weather, **settings))

        yield made


@pytest.fixture
def client(make: Make, server: Server) -> Client:
    return make(str(server.http.base_url))
