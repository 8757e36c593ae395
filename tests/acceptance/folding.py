"""The small script outside the service: the log, and nothing else, made into a state file."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import httpx
import numpy as np

from holdfast.hosting.blueprint import draw_bandit
from holdfast.learners import codec

PAGE = 500


class Folded(NamedTuple):
    """What a log comes to."""

    state: bytes
    agrees: bool  # every reward is about a decision before it, and was given the weight that the log says


def read_log(http: httpx.Client, learner: str) -> list[dict[str, Any]]:
    """Every event, in order."""
    events: list[dict[str, Any]] = []
    after = 0
    while (
        items := http.get(f"/v1/learners/{learner}/log?after={after}&limit={PAGE}").raise_for_status().json()["items"]
    ):
        events.extend(items)
        after = items[-1]["position"]
    return events


def fold(described: dict[str, Any], events: Iterable[dict[str, Any]]) -> Folded:
    """The state of the learner that answers `described`, after these events from the first on."""
    bandit = draw_bandit({**described, "exploration_floor": described["exploration"] or 0.0}).bandit
    state, phi, agrees = bandit.init(), {}, True
    for event in events:
        if event["kind"] == "decision":
            phi[event["position"]] = np.array(event["phi"])
            continue
        if event["about"] not in phi:
            agrees = False
            continue
        for shown, reward, weight in _learned(event):
            state, info = bandit.update(state, phi[event["about"]][shown], reward)
            agrees = agrees and info.weight == weight
    return Folded(codec.encode(state), agrees)


def fold_log(http: httpx.Client, learner: str) -> bytes:
    """The state that the whole log of a quiet learner comes to."""
    folded = fold(http.get(f"/v1/learners/{learner}").json(), read_log(http, learner))
    assert folded.agrees
    return folded.state


def _learned(event: dict[str, Any]) -> Iterable[tuple[int, float, float]]:
    """What a reward or an expiry taught: the place among the shown, the reward and its weight."""
    if event["kind"] == "reward":
        taught = [(event["shown"], event["reward"], event["weight"])]
    else:
        taught = list(zip(range(len(event["rewards"])), event["rewards"], event["weights"], strict=True))
    return [(shown, reward, weight) for shown, reward, weight in taught if reward is not None]
