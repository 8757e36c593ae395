"""A stored description of a learner, made into the parts that run it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.checks import demand
from holdfast.errors import InvalidConfiguration
from holdfast.features import Dense, Encoder, Hashed
from holdfast.learners import Bandit, BanditSpec, build_bandit
from holdfast.learners.catalogue import BUDGET_MIN
from holdfast.learners.mdp import EpisodeRule, Mdp, MdpSpec, build_mdp
from holdfast.learners.mdp.catalogue import insured_budget
from holdfast.learners.reward import RewardRule


@dataclass(frozen=True)
class Blueprint:
    """Everything that follows from the description of a bandit alone."""

    encoder: Encoder
    bandit: Bandit[Any]
    reward: RewardRule
    wait_s: float

    @property
    def budget(self) -> float:
        """What is insured, in the caller's units."""
        return self.bandit.radius.budget * self.reward.width


@dataclass(frozen=True)
class SessionBlueprint:
    """Everything that follows from the description of a learner of sessions alone."""

    encoder: Encoder
    mdp: Mdp[Any]
    reward: EpisodeRule
    wait_s: float  # how long an episode may take
    spec: MdpSpec

    @property
    def budget(self) -> float:
        """What is insured, in the caller's units, at the horizon of the description."""
        return self.budget_at(self.spec.horizon)

    def budget_at(self, horizon: int) -> float:
        return insured_budget(self._spec_at(horizon), self.mdp.function.parameters) * self.reward.width

    def at(self, horizon: int) -> Mdp[Any]:
        """The same learner for another horizon, which its log may have reached."""
        return self.mdp if horizon == self.spec.horizon else build_mdp(self._spec_at(horizon))

    def longer(self, horizon: int) -> int:
        """The horizon after this one."""
        return self._spec_at(horizon).doubled().horizon

    def _spec_at(self, horizon: int) -> MdpSpec:
        return replace(self.spec, horizon=horizon)


AnyBlueprint = Blueprint | SessionBlueprint


def canonical(spec: Mapping[str, Any]) -> str:
    """The one text of a description, so that equal descriptions are equal texts."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def draw(spec: Mapping[str, Any]) -> AnyBlueprint:
    """Build the parts, or say in one sentence why they cannot be built."""
    return draw_sessions(spec) if spec.get("kind") == "mdp" else draw_bandit(spec)


def draw_bandit(spec: Mapping[str, Any]) -> Blueprint:
    encoder, function = _encoder_and_function(spec)
    reward, wait_s = _reward(dict(spec["reward"]))
    bandit = build_bandit(
        BanditSpec(
            dimension=encoder.dimension,
            function=function,
            budget=_scaled_budget(spec, reward.width),
            premium=spec["corruption"]["premium"],
            horizon=spec["horizon"],
            confidence=spec["confidence"],
            noise=spec["noise"],
            radius=spec["radius"],
            exploration_floor=spec["exploration_floor"],
            seed=spec["seed"],
        )
    )
    return Blueprint(encoder, bandit, reward, wait_s)


def draw_sessions(spec: Mapping[str, Any]) -> SessionBlueprint:
    encoder, function = _encoder_and_function(spec)
    rule = dict(spec["reward"])
    demand("wait_s" not in rule, "an mdp waits for episode_timeout_s, not for reward.wait_s")
    reward = EpisodeRule(spec["episode_length"], minimum=rule.pop("min"), maximum=rule.pop("max"), **rule)
    described = MdpSpec(
        dimension=encoder.dimension,
        episode_length=spec["episode_length"],
        stationary=spec["stationary"],
        function=function,
        budget=_scaled_budget(spec, reward.width),
        premium=spec["corruption"]["premium"],
        horizon=spec["horizon"],
        step_max=reward.share,
        radius=spec["radius"],
        exploration_floor=spec["exploration_floor"],
        seed=spec["seed"],
    )
    return SessionBlueprint(encoder, build_mdp(described), reward, spec["episode_timeout_s"], described)


def _encoder_and_function(spec: Mapping[str, Any]) -> tuple[Encoder, dict[str, Any]]:
    encoder, function = _encoder(dict(spec["features"])), dict(spec["function"])
    if function.get("kind") == "tabular":
        demand(
            isinstance(encoder, Dense) and encoder.joint == "cell", "function tabular needs features with joint cell"
        )
        function.setdefault("cells", encoder.cells if isinstance(encoder, Dense) else 1)
    return encoder, function


def _scaled_budget(spec: Mapping[str, Any], width: float) -> Any:
    """From the owner's units of reward to rewards in [0, 1]."""
    budget = spec["corruption"]["budget"]
    if budget == "auto":
        return budget
    demand(
        budget == 0 or budget / width >= BUDGET_MIN,
        f"corruption.budget is in units of reward: auto, 0, or at least {BUDGET_MIN * width:g} for rewards like these",
    )
    return budget / width


def _encoder(features: dict[str, Any]) -> Encoder:
    kind = features.pop("kind")
    if "actions" in features:
        features["actions"] = tuple(features["actions"])
    if "interactions" in features:
        features["interactions"] = tuple(tuple(pair) for pair in features["interactions"])
    try:
        return Dense(**features) if kind == "dense" else Hashed(**features)
    except TypeError:
        raise InvalidConfiguration(f"features {kind} do not take these parameters") from None


def _reward(reward: dict[str, Any]) -> tuple[RewardRule, float]:
    wait_s = reward.pop("wait_s")
    return RewardRule(minimum=reward.pop("min"), maximum=reward.pop("max"), **reward), wait_s
