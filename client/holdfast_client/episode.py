"""A session with an `mdp` learner: a few steps, each of which leads to the next."""

from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from holdfast_client import wire
from holdfast_client.bodies import Actions, Features, listed, new_id
from holdfast_client.models import EpisodeEnd, RewardResult, Step

T = TypeVar("T")


class Send(Protocol):
    """How a client sends a call."""

    def __call__(self, call: "wire.Call[T]", timeout: float | None, retries: int | None) -> T: ...


class Episode:
    """Made by `Client.episode`. `with` starts it and, unless the block failed, finishes it.

    An episode outlives the object: another process goes on with `client.episode(learner, episode_id)` and `step`.
    """

    def __init__(self, send: Send, learner: str, episode_id: str | None = None) -> None:
        self._send = send
        self.learner = learner
        self.episode_id = episode_id or new_id()
        self.episode_length: int | None = None  # known once started here
        self.last_step: int | None = None
        self.is_finished = False

    def start(self, *, timeout: float | None = None, retries: int | None = None) -> Self:
        """Tell the server; `with` does this by itself."""
        started = self._send(wire.start_episode(self.learner, self.episode_id), timeout, retries)
        self.episode_length = started.episode_length
        return self

    def step(
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
        step = self._send(wire.step(self.learner, self.episode_id, body), timeout, retries)
        self.last_step = step.step
        return step

    def reward(
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
        return self._send(wire.reward_step(self.learner, self.episode_id, body), timeout, retries)

    def finish(
        self,
        state: Features = None,
        actions: Actions | None = None,
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> EpisodeEnd:
        """The end, with the state it was reached in, if there is one. `with` does this by itself.

        `actions` are what could have been chosen there: without them a `stationary` learner leaves the last step out.
        """
        body = finish_body(state, actions)
        end = self._send(wire.finish_episode(self.learner, self.episode_id, body), timeout, retries)
        self.is_finished = True
        return end

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if kind is None and not self.is_finished:  # a block that failed says nothing about how the session ended
            self.finish()


def step_body(state: Features, actions: Actions, reward: float | None) -> dict[str, Any]:
    body: dict[str, Any] = {"state": state, "actions": listed(actions)}
    if reward is not None:
        body["reward"] = reward
    return body


def step_reward_body(value: float, step: int | None, source: str | None) -> dict[str, Any]:
    if step is None:
        raise ValueError("say which step the reward is for: none was made here")
    body: dict[str, Any] = {"step": step, "value": value}
    if source is not None:
        body["source"] = source
    return body


def finish_body(state: Features, actions: Actions | None) -> dict[str, Any]:
    body: dict[str, Any] = {} if state is None else {"state": state}
    if actions is not None:
        body["actions"] = listed(actions)
    return body
