"""The small script outside the service: the log, and nothing else, made into a state file."""

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple

import httpx
import numpy as np

from holdfast.arrays import Array
from holdfast.hosting.blueprint import draw_bandit, draw_sessions
from holdfast.learners import codec
from holdfast.learners.mdp import Transition, adopt, replan
from holdfast.learners.mdp import fold as refolded

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


def fold_sessions(described: dict[str, Any], events: Iterable[dict[str, Any]]) -> Folded:
    """The same for a learner of sessions: episodes are learned, plans adopted and horizons extended where it says."""
    blueprint = draw_sessions({**described, "exploration_floor": described["exploration"] or 0.0})
    mdp, steps, last, episodes, agrees = blueprint.mdp, {}, {}, [], True
    state = mdp.init()
    for event in events:
        if event["kind"] == "step":
            steps.setdefault(event["about"], []).append(event)
        elif event["kind"] == "finish" and event["following"] is not None:
            following = np.frombuffer(base64.b64decode(event["following"]))
            last[event["about"]] = following.reshape(-1, blueprint.encoder.dimension)
        elif event["kind"] == "learned":
            known = _transitions(event, steps.pop(event["about"], []), last.get(event["about"]))
            episodes.append((event["position"], known))
            if episodes[-1][1]:
                state, infos = mdp.learn(state, episodes[-1][1])
                agrees = agrees and [info.weight for info in infos if info] == event["weights"]
        elif event["kind"] == "plan":
            plan = codec.decode(base64.b64decode(event["plan"]), like=replan(mdp, mdp.init()))
            state = adopt(mdp, state, plan)
        elif event["kind"] == "horizon":
            mdp = blueprint.at(event["horizon"])
            planned = [known for position, known in episodes if known and position <= event["folded_to"]]
            state = refolded(mdp, mdp.init(), planned)
            for _, known in episodes[len([p for p, _ in episodes if p <= event["folded_to"]]) :]:
                state = mdp.learn(state, known)[0] if known else state
    return Folded(codec.encode(state), agrees)


def _transitions(learned: dict[str, Any], steps: list[dict[str, Any]], last: Array | None) -> list[Transition]:
    phi = [np.array(step["phi"]) for step in steps]
    taught = []
    for number, reward in zip(learned["steps"], learned["rewards"], strict=True):
        is_last = number == len(steps)
        shown = phi[number - 1][steps[number - 1]["shown"]]
        taught.append(Transition(number, shown, reward, last if is_last else phi[number], is_last and learned["ended"]))
    return taught


def fold_log(http: httpx.Client, learner: str) -> bytes:
    """The state that the whole log of a quiet learner comes to."""
    described = http.get(f"/v1/learners/{learner}").json()
    folded = (fold_sessions if described["kind"] == "mdp" else fold)(described, read_log(http, learner))
    assert folded.agrees
    return folded.state


def _learned(event: dict[str, Any]) -> Iterable[tuple[int, float, float]]:
    """What a reward or an expiry taught: the place among the shown, the reward and its weight."""
    if event["kind"] == "reward":
        taught = [(event["shown"], event["reward"], event["weight"])]
    else:
        taught = list(zip(range(len(event["rewards"])), event["rewards"], event["weights"], strict=True))
    return [(shown, reward, weight) for shown, reward, weight in taught if reward is not None]
