"""From an owner's words to a learner's numbers."""

from typing import Any

import pytest

from holdfast.api.schemas import LearnerBody
from holdfast.errors import InvalidConfiguration
from holdfast.hosting.blueprint import AnyBlueprint, Blueprint, draw

FEATURES = {"kind": "dense", "context": 2, "action": 1}


def drawn(kind: str = "bandit", **described: Any) -> AnyBlueprint:
    said = {"name": "home", "kind": kind, "features": FEATURES, **described}
    return draw(LearnerBody.model_validate(said).spec())


@pytest.mark.parametrize(("budget", "insured"), [(0.0, 0.0), (5.0, 0.001), (50_000.0, 10.0)])
def test_a_budget_is_in_the_owners_units_of_reward(budget: float, insured: float) -> None:
    blueprint = drawn(reward={"min": -1000.0, "max": 4000.0}, corruption={"budget": budget})
    assert isinstance(blueprint, Blueprint)
    assert blueprint.bandit.radius.budget == pytest.approx(insured)


def test_the_least_budget_is_the_least_the_learner_takes_to_the_last_digit() -> None:
    for maximum, budget in ((469.0, 0.469), (4017.89, 4.01789)):
        assert drawn(reward={"min": 0.0, "max": maximum}, corruption={"budget": budget})


@pytest.mark.parametrize("kind", ["bandit", "mdp"])
def test_a_budget_too_small_to_compute_with_is_refused_in_the_same_units(kind: str) -> None:
    """A thousandth of a reward is the least."""
    described: dict[str, Any] = {"episode_length": 2} if kind == "mdp" else {}
    with pytest.raises(InvalidConfiguration, match="in units of reward: auto, 0, or at least 5 "):
        drawn(kind, reward={"min": 0.0, "max": 5000.0}, corruption={"budget": 4.0}, **described)
