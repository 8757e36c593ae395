"""From a description of a learner of sessions, as a caller writes it, to the learner.

The constants are one set for every problem. The radius is a number and not a formula in the noise, because values of
later steps enter the targets; the paper's own (th:mdp with c_β = 1) explores at random for longer than any horizon
here, and `radius: theory` is refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from holdfast.checks import demand, demand_choice, demand_number, demand_whole
from holdfast.functions import FunctionClass, KernelRidge, StableKernel, Tabular
from holdfast.functions.protocol import PARAMETERS_MAX, SEED_MAX
from holdfast.learners.catalogue import BUDGET_MIN, HORIZON_MAX, build_function
from holdfast.learners.mdp.learner import LENGTH_MAX, Mdp

RADIUS = 0.05  # β, of values in [0, 1]
PREMIUM = 0.02  # ρ: the share of all episodes that may be spent on insurance
PREMIUM_STATIONARY = 0.005
GROWTH = 0.2
ROUNDING_SHARE = 0.25  # of a kernel's length scale: states that close are one
MATRICES_MAX = 2**24  # numbers in the matrices of all steps together: 128 MB
KINDS = ("linear", "quadratic", "fourier", "kernel", "tabular")


@dataclass(frozen=True)
class MdpSpec:
    """Sessions of `episode_length` steps as their owner describes them.

    `step_max` is the most one step can earn when a whole episode is worth at most 1: without it 1/H, every step alike;
    1 when everything may be earned in one step.
    """

    dimension: int
    episode_length: int
    stationary: bool = False
    function: Mapping[str, Any] = field(default_factory=lambda: {"kind": "linear"})
    budget: float | Literal["auto"] = "auto"
    premium: float | None = None
    horizon: int = 100_000
    step_max: float | None = None
    radius: Literal["practical"] = "practical"
    exploration_floor: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        demand_whole("dimension", self.dimension, 1, PARAMETERS_MAX)
        demand_whole("episode_length", self.episode_length, 1, LENGTH_MAX)
        demand_whole("horizon", self.horizon, 1, HORIZON_MAX)
        demand_whole("seed", self.seed, 0, SEED_MAX)
        demand(isinstance(self.stationary, bool), "stationary must be true or false")
        demand(isinstance(self.function, Mapping), "function must be an object with a kind")
        demand_choice("the function kind of an mdp", self.function.get("kind"), KINDS)
        demand_choice("the radius of an mdp", self.radius, ("practical",))
        if not (isinstance(self.budget, str) and self.budget == "auto"):
            demand_number("budget, unless it is auto,", self.budget, least=0.0)
            demand(self.budget == 0 or self.budget >= BUDGET_MIN, f"budget must be auto, 0, or at least {BUDGET_MIN:g}")
        if self.premium is not None:
            demand_number("premium", self.premium, above=0.0, most=1.0)
        if self.step_max is not None:
            demand_number("step_max", self.step_max, least=1.0 / self.episode_length, most=1.0)
        demand_number("exploration_floor", self.exploration_floor, least=0.0, most=1.0)

    def doubled(self) -> "MdpSpec":
        """The same learner for twice as many episodes, once its horizon is reached; its log is folded anew."""
        return replace(self, horizon=min(HORIZON_MAX, 2 * self.horizon))


def build_mdp(spec: MdpSpec) -> Mdp[Any]:
    """The learner this specification describes."""
    function = build_function(spec.function, spec.dimension)
    demand(function.parameters <= PARAMETERS_MAX, f"an mdp's function may have {PARAMETERS_MAX:,} parameters at most")
    matrices = (1 if spec.stationary else spec.episode_length) * function.parameters**2
    small = isinstance(function, Tabular) or matrices <= MATRICES_MAX
    demand(small, "episode_length times the squared number of parameters is too large; steps can share a model")
    budget = insured_budget(spec, function.parameters)
    # λ = β²: an unseen unit point starts with a bonus of the whole range.
    tied: Any = replace(function, ridge=RADIUS**2)  # type: ignore[type-var]
    return Mdp(
        StableKernel(tied, seed=spec.seed) if isinstance(tied, KernelRidge) else tied,
        spec.episode_length,
        alpha=RADIUS / budget if budget else math.inf,
        beta=RADIUS,
        horizon=spec.horizon,
        stationary=spec.stationary,
        step_max=spec.step_max or 1.0 / spec.episode_length,
        growth=GROWTH,
        rounding=_rounding(function),
        divisible=not isinstance(function, Tabular),
        seed=spec.seed,
        exploration_floor=spec.exploration_floor,
    )


def insured_budget(spec: MdpSpec, parameters: int) -> float:
    """ζ_eff = min(ζ̄, ρT/(dH)): what is insured, but no more than the premium can pay for; `auto` asks for √T.

    Where all steps share one model, its lies are those of all steps: H·ζ̄.
    """
    if spec.budget == 0:
        return 0.0
    asked = math.sqrt(spec.horizon) if spec.budget == "auto" else float(spec.budget)
    if spec.stationary:
        premium = spec.premium or PREMIUM_STATIONARY
        return min(asked * spec.episode_length, premium * spec.horizon / parameters)
    return min(asked, (spec.premium or PREMIUM) * spec.horizon / (parameters * spec.episode_length))


def _rounding(function: FunctionClass[Any]) -> float:
    """The width of the buckets of next states; 0 keeps every state apart until the table is full."""
    kernel = getattr(function, "kernel", None)
    return 0.0 if kernel is None else ROUNDING_SHARE * kernel.length_scale
