"""The ceiling: a FastAPI route with the equivalent pydantic model that does nothing, under the same server settings."""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Action(BaseModel):
    id: str
    features: list[float]


class Body(BaseModel):
    context: list[float]
    actions: list[Action]
    decision_id: str | None = None
    top: int = 1


class RewardBody(BaseModel):
    decision_id: str
    value: float
    action_id: str | None = None
    source: str | None = None


app = FastAPI()


@app.post("/decide", status_code=201)
async def decide(body: Body) -> dict[str, str]:
    return {"action": body.actions[0].id}


@app.post("/reward")
async def reward(body: RewardBody) -> dict[str, str]:
    return {"outcome": "learned"}


@app.get("/health/ready")
async def ready() -> dict[str, str]:
    return {"status": "ready"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")
