"""The backward pass of Algorithm 2, in two functions: `plan = replan(snapshot)`, then `state = adopt(state, plan)`.

A plan is a value for every next state that was known when it was made. Adopting it writes these values into the table
and refits every step to all transitions learned by then: those learned in between keep their weights and their place,
and get the planned value of their next state too. A next state that is new since keeps the value it got when it came.
So a state depends on the order of episodes and adoptions in the log and on nothing else, and adopting a plan at once is
Algorithm 2's pass over all episodes.

A plan is due when some step's log-complexity has grown by `growth`·min(parameters, what it was). Adopting costs one
product with the table; making a plan costs a width for every candidate of every known next state.
"""

from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import Array
from holdfast.errors import MismatchedState
from holdfast.learners.mdp import groups as tables
from holdfast.learners.mdp.learner import Mdp, MdpState, Model, snapshot


class ModelPlan(NamedTuple):
    """What one model's next states are worth, and which table they belong to."""

    values: Array  # (groups, k)
    merges: int
    complexity: float

    @staticmethod
    def growing() -> tuple[str, ...]:
        """See `codec.py`."""
        return ("values",)


class Plan(NamedTuple):
    """The outcome of one backward pass."""

    models: tuple[ModelPlan, ...]
    episodes: int  # learned when it was made


def is_due(mdp: Mdp[Any], state: MdpState) -> bool:
    """Whether enough was learned since the last plan for another to be worth its cost."""
    return any(_has_grown(mdp, model) for model in state.models)


def replan(mdp: Mdp[Any], state: MdpState) -> Plan:
    """f^h for h = H … 1, from what the state holds (lines 4–8); the state is only read."""
    plans = _pass_stationary(mdp, state.models[0]) if mdp.stationary else _pass(mdp, state.models)
    return Plan(tuple(plans), state.episodes)


def adopt(mdp: Mdp[Any], state: MdpState, plan: Plan, donate: bool = False) -> MdpState:
    """The state under a plan made from it, or from an earlier one of the same log."""
    if len(plan.models) != len(state.models) or plan.episodes > state.episodes:
        raise MismatchedState("the plan was not made from an earlier state of this learner")
    models = (state if donate else snapshot(state)).models
    adopted = tuple(_adopted(mdp, held, model) for held, model in zip(models, plan.models, strict=True))
    return state._replace(models=adopted, plans=state.plans + 1, planned_at=plan.episodes)


def refreshed(mdp: Mdp[Any], state: MdpState, donate: bool = False) -> MdpState:
    """The state with a plan made and adopted on the spot, if one is due."""
    return adopt(mdp, state, replan(mdp, state), donate) if is_due(mdp, state) else state


def _has_grown(mdp: Mdp[Any], model: Model) -> bool:
    """A step that nobody reaches stays at 0 and asks for nothing."""
    gained = mdp.function.log_complexity(model.function) - model.planned
    return gained > 0.0 and gained >= mdp.growth * min(mdp.function.parameters, model.planned)


def _pass(mdp: Mdp[Any], models: tuple[Model, ...]) -> list[ModelPlan]:
    """From the last step to the first, each with its own data."""
    plans: list[ModelPlan] = []
    values = np.zeros((0, 1))  # f^{H+1} = 0, and the last step's table is empty
    for h in range(mdp.length, 0, -1):
        held = models[h - 1]
        plans.append(_model_plan(mdp, held, values))
        later = held._replace(thetas=_solved(mdp, held, values))
        if h > 1:
            before = models[h - 2].groups
            values = (
                tables.best_of_each(before, mdp.scores(later, h - 1, tables.rows_of(before)))
                if before.size
                else values[:0]
            )
    return plans[::-1]


def _pass_stationary(mdp: Mdp[Any], held: Model) -> list[ModelPlan]:
    """The same backward pass where all steps share Λ and the table: every width is computed once."""
    groups, fits = held.groups, mdp.fits
    values = np.zeros((groups.size, fits))
    rows = tables.rows_of(groups)
    psi = mdp.function.coordinates(held.function, rows)
    _, widths = mdp.function.predict(held.function, held.thetas[:1], rows)
    for h in range(mdp.length, 1, -1):
        theta = _solved(mdp, held, values[:, h - 1 : h], slice(h - 1, h))[0]
        # f^h = clip(f̂^h + βb, 0, cap_h)
        scores = np.clip(psi.dot(theta) + mdp.beta * widths, 0.0, mdp.cap(h))
        values[:, h - 2] = tables.best_of_each(groups, scores[:, None])[:, 0]
    return [_model_plan(mdp, held, values)]


def _solved(mdp: Mdp[Any], held: Model, values: Array, fits: slice = slice(None)) -> Array:
    """θ̂ = Λ⁻¹(Σ ψr/σ² + Σ_{x'} [Σ ψ/σ²]·f^{h+1}(x'))   (eqn:least_square_mdp)."""
    moments = held.settled[fits] + values.T.dot(held.groups.brackets[: len(values)])
    solved: Array = mdp.function.solve(held.function, moments)
    return solved


def _model_plan(mdp: Mdp[Any], held: Model, values: Array) -> ModelPlan:
    return ModelPlan(values.copy(), held.groups.merges, mdp.function.log_complexity(held.function))


def _adopted(mdp: Mdp[Any], held: Model, plan: ModelPlan) -> Model:
    """In place. A table that was renumbered since the plan was made keeps its values, and its next plan is due."""
    if plan.merges != held.groups.merges:
        return held
    if len(plan.values) > held.groups.size:
        raise MismatchedState("the plan knows next states that the learner does not")
    held.groups.values[: len(plan.values)] = plan.values
    return mdp.refitted(held)._replace(planned=plan.complexity)
