"""A FastAPI application that asks Holdfast which headline to show and reports clicks in the background.

Run it with `uvicorn --app-dir examples web_app:app`; HOLDFAST_URL and HOLDFAST_API_KEY say where the service is.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from pydantic import BaseModel

from holdfast_client import AsyncClient

READERS = {"fan": [1.0, 0.0], "critic": [0.0, 1.0]}
HEADLINES = {"sport": [1.0, 0.0, 0.0], "opera": [0.0, 1.0, 0.0], "weather": [0.0, 0.0, 1.0]}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client and one queue for the whole application; what waits is delivered when it stops."""
    async with AsyncClient() as client, client.rewards_in_background(when_full="drop") as clicks:
        features = {"kind": "dense", "context": 2, "action": 3, "joint": "outer"}
        await client.create_learner("front-page", features=features, corruption={"budget": 20})
        app.state.client, app.state.clicks = client, clicks
        yield


app = FastAPI(lifespan=lifespan)


class Headline(BaseModel):
    """What to show, and the id to send back with a click."""

    headline: str
    decision_id: str


class Click(BaseModel):
    """A reader clicked."""

    decision_id: str


@app.get("/headline")
async def headline(reader: str, request: Request) -> Headline:
    """Readers never wait for Holdfast longer than 200 ms, and never see an error because of it."""
    client: AsyncClient = request.app.state.client
    decision = await client.decide("front-page", HEADLINES, READERS[reader], default_action="weather", timeout=0.2)
    return Headline(headline=decision.action.id, decision_id=decision.decision_id)


@app.post("/click", status_code=202)
async def click(clicked: Click, request: Request) -> None:
    """The id of a fallback may come back too; the queue knows to ignore it."""
    await request.app.state.clicks.add("front-page", clicked.decision_id, 1.0, source="web")
