"""A stored description of a learner, made into the parts that run it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.checks import demand
from holdfast.errors import InvalidConfiguration
from holdfast.features import Dense, Encoder, Hashed
from holdfast.learners import Bandit, BanditSpec, build_bandit
from holdfast.learners.reward import RewardRule


@dataclass(frozen=True)
class Blueprint:
    """Everything that follows from the description alone."""

    encoder: Encoder
    bandit: Bandit[Any]
    reward: RewardRule
    wait_s: float


def canonical(spec: Mapping[str, Any]) -> str:
    """The one text of a description, so that equal descriptions are equal texts."""
    return json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def draw(spec: Mapping[str, Any]) -> Blueprint:
    """Build the parts, or say in one sentence why they cannot be built."""
    encoder = _encoder(dict(spec["features"]))
    reward, wait_s = _reward(dict(spec["reward"]))
    corruption, function = spec["corruption"], dict(spec["function"])
    if function.get("kind") == "tabular":
        demand(
            isinstance(encoder, Dense) and encoder.joint == "cell", "function tabular needs features with joint cell"
        )
        function.setdefault("cells", encoder.cells if isinstance(encoder, Dense) else 1)
    budget = corruption["budget"]
    bandit = build_bandit(
        BanditSpec(
            dimension=encoder.dimension,
            function=function,
            budget=budget if budget == "auto" else budget / reward.width,
            premium=corruption["premium"],
            horizon=spec["horizon"],
            confidence=spec["confidence"],
            noise=spec["noise"],
            radius=spec["radius"],
            exploration_floor=spec["exploration_floor"],
            seed=spec["seed"],
        )
    )
    return Blueprint(encoder, bandit, reward, wait_s)


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
