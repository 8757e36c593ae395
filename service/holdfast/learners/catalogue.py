"""From a description of a learner, as a caller writes it, to the learner.

`BanditSpec` holds what `POST /v1/learners` says about learning, with the same defaults; `build_bandit` settles the
numbers that depend on one another: the budget, λ and the radius.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from holdfast.checks import demand, demand_number, demand_whole
from holdfast.errors import InvalidConfiguration
from holdfast.functions import CLASSES, FunctionClass, Kernel
from holdfast.functions.protocol import PARAMETERS_MAX, SEED_MAX
from holdfast.learners.bandit import Bandit
from holdfast.learners.noise import NOISE_MAX, EstimatedNoise, GivenNoise
from holdfast.learners.radius import Practical, Radius, Theory, tied_ridge

# Chosen once on the whole regret table of `make bench`, not per problem (ARCHITECTURE.md, decisions).
SCALE_UNINSURED = 0.3
SCALE_INSURED = 0.15
INSURANCE = 0.6

HORIZON_MAX = 10**12
CONFIDENCE_MAX = 0.5


@dataclass(frozen=True)
class BanditSpec:
    """A bandit as its owner describes it. `function` is `{"kind": …, parameters}` as in the HTTP contract."""

    dimension: int
    function: Mapping[str, Any] = field(default_factory=lambda: {"kind": "linear"})
    budget: float | Literal["auto"] = "auto"
    premium: float = 0.01
    horizon: int = 100_000
    confidence: float = 0.05
    noise: float | Literal["auto"] = "auto"
    radius: Literal["practical", "theory"] = "practical"
    exploration_floor: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        demand_whole("dimension", self.dimension, 1, PARAMETERS_MAX)
        demand_whole("horizon", self.horizon, 1, HORIZON_MAX)
        demand_whole("seed", self.seed, 0, SEED_MAX)
        demand_number("confidence", self.confidence, above=0.0, most=CONFIDENCE_MAX)
        demand_number("premium", self.premium, above=0.0, most=1.0)
        demand(isinstance(self.function, Mapping), "function must be an object with a kind")
        demand(self.radius in ("practical", "theory"), "radius must be practical or theory")
        if self.budget not in ("auto", 0):
            demand_number("budget, unless it is auto or 0,", self.budget, above=0.0)
        if self.noise != "auto":
            demand_number("noise, unless it is auto,", self.noise, above=0.0, most=NOISE_MAX)
        if self.exploration_floor != 0:
            demand_number("exploration_floor, unless it is 0,", self.exploration_floor, above=0.0, most=1.0)


def build_bandit(spec: BanditSpec) -> Bandit[Any]:
    """The learner this specification describes."""
    function = build_function(spec.function, spec.dimension)
    budget = insured_budget(spec, function.parameters)
    noise = EstimatedNoise() if spec.noise == "auto" else GivenNoise(spec.noise)
    first_level = noise.level_of(noise.init())
    ridge, radius = _radius(spec, function, budget, first_level)
    # Every class is a dataclass with a `ridge`; the protocol only promises that it can be read.
    tied: Any = replace(function, ridge=ridge)  # type: ignore[type-var]
    return Bandit(tied, radius, noise, spec.seed, spec.exploration_floor)


def build_function(description: Mapping[str, Any], dimension: int) -> FunctionClass[Any]:
    """A function class from `{"kind": "kernel", "length_scale": 0.3, …}`."""
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    demand(kind in CLASSES, f"function kind must be one of {', '.join(CLASSES)}")
    if kind in ("fourier", "kernel"):
        parameters["kernel"] = Kernel(**_take(parameters, "kernel", "length_scale", "smoothness"))
    if kind not in ("finite", "tabular"):
        parameters["dimension"] = dimension
    try:
        function: FunctionClass[Any] = CLASSES[str(kind)](**parameters)
    except TypeError:
        raise InvalidConfiguration(f"function {kind} does not take these parameters") from None
    demand(function.dimension == dimension, f"function {kind} does not fit features of dimension {dimension}")
    return function


def insured_budget(spec: BanditSpec, parameters: int) -> float:
    """ζ̄: `auto` is the paper's √T (Section 4.3), but no more than the premium, about ζ̄·d of regret, can pay for."""
    if spec.budget == "auto":
        return min(math.sqrt(spec.horizon), spec.premium * spec.horizon / parameters)
    return spec.budget


def _radius(spec: BanditSpec, function: FunctionClass[Any], budget: float, noise: float) -> tuple[float, Radius]:
    """λ and the rule for α and β, which depend on each other."""
    if spec.radius == "theory":
        # One candidate alone has ln N = 0, and λ = 0 would divide by nothing: count it as two.
        log_covering = max(math.log(2.0), function.log_covering(gamma=1.0 / (spec.horizon * max(1.0, budget))))
        return log_covering, Theory(budget, spec.confidence, log_covering)
    scale, insurance = (SCALE_INSURED, INSURANCE) if budget else (SCALE_UNINSURED, 0.0)
    ridge = tied_ridge(scale, insurance, noise, spec.confidence, function.norm, function.prior_width)
    return ridge, Practical(budget, spec.confidence, ridge, function.norm, scale, insurance)


def _take(parameters: dict[str, Any], kind: str, *names: str) -> dict[str, Any]:
    """Move the kernel's own parameters out of a function's."""
    taken = {name: parameters.pop(name) for name in names if name in parameters}
    return {"kind": parameters.pop(kind), **taken} if kind in parameters else taken
