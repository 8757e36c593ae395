"""The asynchronous twin of `episode.py`."""

from types import TracebackType
from typing import Protocol, Self, TypeVar

from holdfast_client import wire
from holdfast_client.bodies import Actions, Features, new_id
from holdfast_client.episode import finish_body, step_body, step_reward_body
from holdfast_client.models import EpisodeEnd, RewardResult, Step

T = TypeVar("T")


class AsyncSend(Protocol):
    """How a client sends a call."""

    async def __call__(self, call: "wire.Call[T]", timeout: float | None, retries: int | None) -> T: ...


class AsyncEpisode:
    """Made by `AsyncClient.episode`. `async with` starts it and, unless the block failed, finishes it.

    An episode outlives the object: another process goes on with `client.episode(learner, episode_id)` and `step`.
    """

    def __init__(self, send: AsyncSend, learner: str, episode_id: str | None = None) -> None:
        self._send = send
        self.learner = learner
        self.episode_id = episode_id or new_id()
        self.episode_length: int | None = None  # known once started here
        self.last_step: int | None = None
        self.is_finished = False

    async def start(self, *, timeout: float | None = None, retries: int | None = None) -> Self:
        """Tell the server; `async with` does this by itself."""
        started = await self._send(wire.start_episode(self.learner, self.episode_id), timeout, retries)
        self.episode_length = started.episode_length
        return self

    async def step(
        self,
        state: Features,
        actions: Actions,
        *,
        reward: float | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Step:
        """What to do in this state; `reward` is that of the step before, if it is known by now."""
        body = step_body(state, actions, reward)
        step = await self._send(wire.step(self.learner, self.episode_id, body), timeout, retries)
        self.last_step = step.step
        return step

    async def reward(
        self,
        value: float,
        *,
        step: int | None = None,
        source: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> RewardResult:
        """What a step was worth: the last one made here, unless said otherwise."""
        body = step_reward_body(value, step or self.last_step, source)
        return await self._send(wire.reward_step(self.learner, self.episode_id, body), timeout, retries)

    async def finish(
        self,
        state: Features = None,
        actions: Actions | None = None,
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> EpisodeEnd:
        """The end, with the state it was reached in, if there is one. `async with` does this by itself.

        `actions` are what could have been chosen there: without them a `stationary` learner leaves the last step out.
        """
        body = finish_body(state, actions)
        end = await self._send(wire.finish_episode(self.learner, self.episode_id, body), timeout, retries)
        self.is_finished = True
        return end

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None and not self.is_finished:  # a block that failed says nothing about how the session ended
            await self.finish()
