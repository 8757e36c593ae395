"""A process of a load of sessions: whole sessions come on the schedule, and each goes on as soon as it is answered.

The first step of a session counts from when the session was due; the next from when somebody could ask for it, since
nobody goes on before they have seen what comes first.
"""

import time

import numpy as np

from holdfast_client.async_episode import AsyncEpisode
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.mdps import END
from holdfast_client.simulator.run import is_insured
from holdfast_client.simulator.saboteurs import Happened
from holdfast_client.simulator.session_auditor import SessionAuditor
from holdfast_client.simulator.sessions import Reward, SessionScenario, question
from holdfast_client.simulator.traffic import Post
from holdfast_client.simulator.workers import Load, Worker


class SessionWorker(Worker):
    """Sessions side by side."""

    def __init__(self, url: str, load: Load, scenario: SessionScenario, learner: str, seed: int) -> None:
        super().__init__(url, load, learner, seed, scenario.traffic)
        self.problem = scenario.problem(seed)
        self.decisions_per_call = self.problem.length
        self.saboteur = scenario.saboteur(self.problem, scenario.budget)
        self.settings = scenario.settings(self.problem, seed) | dict(load.settings)
        self.auditor = SessionAuditor(self.problem.length, is_insured(self.settings))
        self.rng = np.random.default_rng((seed, 31))

    async def call(self, call: int, started: float, due: float) -> None:
        """One session."""
        name, x, post = f"e-{call}", self.problem.begin(self.rng), Post[Reward](self.traffic, self.seed + call)
        self.auditor.start(name)
        episode = await self.client.episode(self.learner, name).start()
        for h in range(1, self.problem.length + 1):
            self.auditor.ask(name, h)
            step = await episode.step(*question(self.problem, x))
            self.note(started, due, 1)
            self.auditor.stepped(name, h, step)
            action = int(step.action.id)
            honest = Happened(h, x, action, *self.problem.step(self.rng, x, action))
            told = self.saboteur.tell(honest, call) or honest
            post.take(Reward(h, told.reward), h)
            await self._tell(episode, post.arrived(h))
            due, x = time.perf_counter() - started, told.following
            if x == END:
                break
        self.auditor.finished(name, await episode.finish())
        await self._tell(episode, post.arrived(None))

    async def _tell(self, episode: AsyncEpisode, rewards: list[Reward]) -> None:
        for step, value in rewards:
            self.auditor.claim(episode.episode_id, step, value)
            self.auditor.rewarded(episode.episode_id, step, value, await episode.reward(value, step=step))
            self.told.rewards += 1

    async def rest(self) -> None:
        """Every session waits for its own rewards."""

    async def settle(self) -> list[Violation]:
        async for event in self.client.log(self.learner):
            self.auditor.see(event)
        self.auditor.close()
        return self.auditor.violations
