"""The examples do what they say, as a user would run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from holdfast_client import Client
from tests.acceptance.server import Server
from tests.client.web import served

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def _run(name: str, url: str) -> str:
    environment = os.environ | {"HOLDFAST_URL": url}
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quick_start_visibly_learns(server: Server) -> None:
    said = _run("quickstart.py", str(server.http.base_url))
    clicks = [int(count) for count in re.findall(r"(\d+) clicks", said)]
    assert len(clicks) == 5
    assert clicks[-1] > clicks[0] + 10, said
    assert said.endswith("for a fan: sport\nfor a critic: opera\n")


def test_the_session_example_runs(server: Server) -> None:
    said = _run("session.py", str(server.http.base_url))
    assert len(re.findall(r"\d\.\d{3} each", said)) == 5
    told = server.http.get("/v1/learners/shop/diagnostics").json()
    assert (told["rounds"], told["samples"], told["episodes"]["open"]) == (200, 600, 0)


@pytest.fixture
def web_app_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.mark.usefixtures("web_app_folder")
def test_the_web_application_shows_headlines_and_delivers_the_clicks(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from web_app import app

    monkeypatch.setitem(os.environ, "HOLDFAST_URL", str(server.http.base_url))
    with served(app) as url, httpx.Client(base_url=url) as web:
        for _ in range(20):
            shown = web.get("/headline", params={"reader": "fan"}).json()
            assert shown["headline"] in ("sport", "opera", "weather")
            assert web.post("/click", json={"decision_id": shown["decision_id"]}).status_code == 202
    with Client() as client:
        kinds = [event.kind for event in client.log("front-page")]
    assert (kinds.count("decision"), kinds.count("reward")) == (20, 20)


def test_the_examples_pass_mypy_strict(tmp_path: Path) -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert len(files) == 3
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", "--config-file=", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
