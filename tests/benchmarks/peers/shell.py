"""Vowpal Wabbit behind FastAPI, the way the no-op is: what it learns is in memory, and nothing is ever written down."""

import sys
from typing import Any

import numpy as np
import uvicorn
import vowpalwabbit
from fastapi import FastAPI
from pydantic import BaseModel

from tests.benchmarks.noop import Body, RewardBody
from tests.benchmarks.peers.wabbit import numbers


class Words(BaseModel):
    words: str
    seed: int


class Learner:
    """Questions wait in memory for their reward."""

    def __init__(self, words: str, seed: int) -> None:
        self.workspace = vowpalwabbit.Workspace(f"--cb_explore_adf {words} --random_seed {seed} --quiet")
        self.rng = np.random.default_rng((seed, 40))
        self.waiting: dict[str, tuple[list[str], int, float]] = {}
        self.count = 0

    def decide(self, body: Body) -> dict[str, Any]:
        shared = [f"shared |s {numbers(body.context)}"] if body.context else []
        asked = [*shared, *(f"|a {numbers(action.features)}" for action in body.actions)]
        chances = np.array(self.workspace.predict(asked))
        chosen = int(self.rng.choice(len(chances), p=chances / chances.sum()))
        self.count += 1
        name = body.decision_id or str(self.count)
        self.waiting[name] = (asked, chosen + len(shared), float(chances[chosen]))
        return {"decision_id": name, "action": body.actions[chosen].id, "index": chosen}

    def reward(self, body: RewardBody) -> dict[str, str]:
        asked, at, chance = self.waiting.pop(body.decision_id)
        asked[at] = f"0:{1.0 - body.value:.6g}:{chance:.6g} {asked[at]}"
        self.workspace.learn(asked)
        return {"outcome": "learned"}


app = FastAPI()
learner = Learner("--squarecb", 1)


@app.post("/learner")
async def start_over(body: Words) -> dict[str, str]:
    global learner
    learner = Learner(body.words, body.seed)
    return {}


@app.post("/decide", status_code=201)
async def decide(body: Body) -> dict[str, Any]:
    return learner.decide(body)


@app.post("/decide/batch", status_code=201)
async def decide_many(bodies: list[Body]) -> list[dict[str, Any]]:
    return [learner.decide(body) for body in bodies]


@app.post("/reward")
async def reward(body: RewardBody) -> dict[str, str]:
    return learner.reward(body)


@app.post("/reward/batch")
async def reward_many(bodies: list[RewardBody]) -> list[dict[str, str]]:
    return [learner.reward(body) for body in bodies]


@app.get("/health/ready")
async def ready() -> dict[str, str]:
    return {"status": "ready"}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")
