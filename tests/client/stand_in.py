"""The episode routes of the contract on a server that knows nothing else, until the service has them.

It keeps the rules a client can notice: a repeated Idempotency-Key gets the first answer again, step H+1 is a conflict,
a reward is for a step that was made. It learns nothing.
"""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tests.acceptance.server import free_port

EPISODE_LENGTH = 3


class Refusal(Exception):
    def __init__(self, status: int, slug: str) -> None:
        self.status, self.slug = status, slug


class StandIn:
    """What was sent, and the episodes there are."""

    def __init__(self) -> None:
        self.episodes: dict[str, list[dict[str, Any]]] = {}
        self.rewards: list[tuple[str, dict[str, Any]]] = []
        self.finished: dict[str, Any] = {}
        self._answers: dict[tuple[str, str], tuple[bytes, Response]] = {}

    def app(self) -> Starlette:
        under = "/v1/learners/shop/episodes"
        routes = [
            Route("/page/health/ready", lambda request: HTMLResponse("<h1>It works!</h1>")),
            Route("/health/ready", lambda request: JSONResponse({"status": "ready"})),
            Route("/v1/learners", self._create, methods=["POST"]),
            Route(under, self._once(self._start), methods=["POST"]),
            Route(f"{under}/{{episode}}/steps", self._once(self._step), methods=["POST"]),
            Route(f"{under}/{{episode}}/rewards", self._once(self._reward), methods=["POST"]),
            Route(f"{under}/{{episode}}/finish", self._once(self._finish), methods=["POST"]),
        ]
        return Starlette(routes=routes)

    def _once(self, perform: Any) -> Any:
        async def answer(request: Request) -> Response:
            body = await request.body()
            place = (request.url.path, request.headers["idempotency-key"])
            if place not in self._answers:
                try:
                    status, content = perform(request.path_params.get("episode"), json.loads(body))
                except Refusal as no:
                    problem = {"type": no.slug, "title": "No", "status": no.status, "detail": no.slug}
                    return JSONResponse(problem, no.status)
                self._answers[place] = (body, JSONResponse(content, status))
            first, answered = self._answers[place]
            assert first == body
            return answered

        return answer

    async def _create(self, request: Request) -> Response:
        return JSONResponse(await request.json(), 201)

    def _start(self, episode: None, body: dict[str, Any]) -> tuple[int, Any]:
        self.episodes[body["episode_id"]] = []
        return 201, {"episode_id": body["episode_id"], "episode_length": EPISODE_LENGTH}

    def _step(self, episode: str, body: dict[str, Any]) -> tuple[int, Any]:
        steps = self._steps(episode)
        if len(steps) == EPISODE_LENGTH or episode in self.finished:
            raise Refusal(409, "episode-over")
        steps.append(body)
        first = body["actions"][0]["id"]
        ranked = [{"id": first, "score": 1.0, "mean": 0.5, "bonus": 0.5, "probability": 1.0}]
        answer = {"step": len(steps), "action": {"id": first, "index": 0}, "ranking": ranked, "position": 7}
        return 201, answer

    def _reward(self, episode: str, body: dict[str, Any]) -> tuple[int, Any]:
        if not 1 <= body["step"] <= len(self._steps(episode)):
            raise Refusal(404, "step-not-found")
        self.rewards.append((episode, body))
        return 200, {"outcome": "pending", "weight": None, "position": 8}

    def _finish(self, episode: str, body: dict[str, Any]) -> tuple[int, Any]:
        self._steps(episode)
        self.finished[episode] = body
        return 200, {"episode_id": episode, "learned": 2}

    def _steps(self, episode: str) -> list[dict[str, Any]]:
        if episode not in self.episodes:
            raise Refusal(404, "episode-not-found")
        return self.episodes[episode]


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application, served from a thread; it has stopped at the end."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def standing_in() -> Iterator[tuple[StandIn, str]]:
    """It and its address."""
    stand_in = StandIn()
    with served(stand_in.app()) as url:
        yield stand_in, url
