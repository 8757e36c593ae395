"""The examples in the SDK's docstrings talk to a live server: `client` is one, `home` a learner without a past."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem

from holdfast_client import Client, NotFound
from tests.acceptance.server import Server, serving
from tests.databases import fresh_url

HOME = {"kind": "dense", "context": 2, "action": 1}


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for everything that only needs some server."""
    with serving(fresh_url("sqlite", Path(tmp_path_factory.mktemp("live")))) as server:
        yield server


@pytest.fixture(autouse=True)
def _examples_have_a_server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, doctest_namespace: dict[str, Any]
) -> Iterator[None]:
    if not (isinstance(request.node, DoctestItem) and request.node.name.startswith("holdfast_client")):
        yield
        return
    server = request.getfixturevalue("live_server")
    monkeypatch.setitem(os.environ, "HOLDFAST_URL", str(server.http.base_url))
    with Client() as client:
        for name in ("home", "twin"):
            _forget(client, name)
        client.create_learner("home", features=HOME)
        doctest_namespace["client"] = client
        yield
        del doctest_namespace["client"]


def _forget(client: Client, name: str) -> None:
    with suppress(NotFound):
        client.delete_learner(name)
