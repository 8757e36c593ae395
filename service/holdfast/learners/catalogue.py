"""From a description of a learner, as a caller writes it, to the learner.

`BanditSpec` holds what `POST /v1/learners` says about learning, with the same defaults; `build_bandit` settles the
numbers that depend on one another: the budget, λ and the radius.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Literal

from holdfast.checks import demand, demand_choice, demand_number, demand_whole
from holdfast.functions import CLASSES, Finite, FunctionClass, Kernel
from holdfast.functions.protocol import PARAMETERS_MAX, SEED_MAX
from holdfast.learners.bandit import Bandit
from holdfast.learners.noise import NOISE_MAX, NOISE_MIN, EstimatedNoise, GivenNoise
from holdfast.learners.radius import Nested, Practical, Radius, Theory, tied_ridge

# Chosen once on the whole regret table of `make bench`, not per problem (ARCHITECTURE.md, decisions).
SCALE_UNINSURED = 0.3
SCALE_INSURED = 0.15
INSURANCE = 0.6

HORIZON_MAX = 10**12
CONFIDENCE_MAX = 0.5
BUDGET_MIN = 1e-3  # less is no insurance, and its α no number to compute with


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
        demand_choice("radius", self.radius, ("practical", "theory"))
        if not (isinstance(self.budget, str) and self.budget == "auto"):
            demand_number("budget, unless it is auto,", self.budget, least=0.0)
            demand(self.budget == 0 or self.budget >= BUDGET_MIN, f"budget must be auto, 0, or at least {BUDGET_MIN:g}")
        if not (isinstance(self.noise, str) and self.noise == "auto"):
            demand_number("noise, unless it is auto,", self.noise, least=NOISE_MIN, most=NOISE_MAX)
        demand_number("exploration_floor", self.exploration_floor, least=0.0, most=1.0)


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
    demand_choice("function kind", kind, CLASSES)
    if kind in ("fourier", "kernel"):
        parameters["kernel"] = Kernel(**_take(parameters, "kernel", "length_scale", "smoothness"))
    if kind not in ("finite", "tabular"):
        demand("dimension" not in parameters, "the dimension is that of the features and cannot be given")
        parameters["dimension"] = dimension
    _demand_known(str(kind), parameters)
    function: FunctionClass[Any] = CLASSES[str(kind)](**parameters)
    demand(function.dimension == dimension, f"function {kind} does not fit features of dimension {dimension}")
    return function


def _demand_known(kind: str, parameters: Mapping[str, Any]) -> None:
    """Every parameter the class needs, and none it does not take; λ follows from the radius and is never given."""
    taken = {f.name: f for f in fields(CLASSES[kind]) if f.name != "ridge"}
    needed = [name for name, f in taken.items() if f.default is MISSING and f.default_factory is MISSING]
    demand(all(name in parameters for name in needed), f"function {kind} needs {', '.join(needed)}")
    offered = ", ".join(name for name in taken if name != "dimension") or "no parameters"
    demand(set(parameters) <= set(taken), f"function {kind} takes {offered}")


def insured_budget(spec: BanditSpec, parameters: int) -> float:
    """ζ̄: `auto` is the paper's √T (Section 4.3), but no more than the premium, about ζ̄·d of regret, can pay for."""
    if spec.budget == "auto":
        return min(math.sqrt(spec.horizon), spec.premium * spec.horizon / parameters)
    return float(spec.budget)


def _radius(spec: BanditSpec, function: FunctionClass[Any], budget: float, noise: float) -> tuple[float, Radius]:
    """λ and the rule for α and β, which depend on each other."""
    if spec.radius == "theory":
        # One candidate alone has ln N = 0, and λ = 0 would divide by nothing: count it as two.
        log_covering = max(math.log(2.0), function.log_covering(gamma=1.0 / (spec.horizon * max(1.0, budget))))
        return _theory(spec, function, budget, log_covering)
    if isinstance(function, Finite):
        return 1.0, Nested(budget, spec.confidence, INSURANCE)
    scale, insurance = (SCALE_INSURED, INSURANCE) if budget else (SCALE_UNINSURED, 0.0)
    ridge = tied_ridge(scale, insurance, noise, spec.confidence, function.norm, function.prior_width)
    return ridge, Practical(budget, spec.confidence, ridge, function.norm, scale, insurance)


def _theory(spec: BanditSpec, function: FunctionClass[Any], budget: float, log_covering: float) -> tuple[float, Radius]:
    """λ = ln N. Where the sup of eq:bonus_mdp is over a ball of radius B, it is the width at ridge λ/(4B²)."""
    if isinstance(function, Finite):
        return log_covering, Theory(budget, spec.confidence, log_covering)
    ridge = log_covering / (4.0 * function.norm**2)
    return ridge, Theory(budget, spec.confidence, log_covering, regulariser=log_covering)


def _take(parameters: dict[str, Any], kind: str, *names: str) -> dict[str, Any]:
    """Move the kernel's own parameters out of a function's."""
    taken = {name: parameters.pop(name) for name in names if name in parameters}
    return {"kind": parameters.pop(kind), **taken} if kind in parameters else taken
