"""What a function class 𝓕 is to a learner: a weighted fit, an uncertainty, and a complexity.

A class is a frozen configuration; what it has seen is a `State`, a NamedTuple of arrays and numbers.

| symbol | name here       | meaning |
|--------|-----------------|---------|
| z, φ   | `x`             | one candidate as a row of floats; `(n, d)` for many, `(d,)` for one |
| f̂(z)   | `mean`          | the weighted least-squares fit, eqn:weighted_regression |
| b(z)   | `width`         | the uncertainty, eq:bonus_mdp |
| 1/σ²   | `weight`        | how much one observation counts, eq:weight_bandit; chosen by the learner, never here |
| β      | `beta`          | the confidence radius, eqn:confidence_set |
| λ      | `ridge`         | the regulariser of eq:bonus_mdp |
| B      | `norm`          | the assumed length of the true parameter |
| ln N   | `log_covering`  | the log covering number of the whole class |
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from holdfast.arrays import Array

PARAMETERS_MAX = 2_048  # a class keeps a square matrix of this size

SEED_MAX = 2**63 - 1
NORM_MIN = 1e-3

State = TypeVar("State", bound=tuple[Any, ...])

Weigh: TypeAlias = Callable[[float], float]
"""The learner's rule: from the uncertainty b(z) *before* z is observed to the weight 1/σ² in (0, 1]."""


class Seen(NamedTuple):
    """What was believed about a point in the moment before it was observed, and the weight it was given."""

    mean: float
    width: float
    weight: float


class FunctionClass(Protocol[State]):
    """One family of functions with a state that is folded over observations."""

    @property
    def ridge(self) -> float:
        """λ."""

    @property
    def dimension(self) -> int:
        """The length of a point `x`."""

    @property
    def parameters(self) -> int:
        """The number of free parameters: the stand-in for the eluder dimension."""

    @property
    def norm(self) -> float:
        """B, so that sqrt(λ)·B bounds the bias of the regulariser."""

    @property
    def prior_width(self) -> float:
        """b of an unseen unit point when λ = 1; the learner ties λ to its radius with it."""

    def check(self, x: Array) -> None:
        """Raise `InvalidInput` unless `x`, `(d,)` or `(n, d)`, are points of this class."""

    def init(self) -> State:
        """The state that has seen nothing."""

    def is_sound(self, state: State) -> bool:
        """Whether a state of the right shape, from a file, can be one of this class's."""

    def evaluate(self, state: State, x: Array) -> tuple[Array, Array]:
        """`(n, d)` points → f̂ `(n,)` and b `(n,)`."""

    def optimism(self, state: State, x: Array, beta: float) -> tuple[Array, Array]:
        """f̂ `(n,)` and what the most optimistic function of the confidence set adds to it `(n,)`."""

    def observe(self, state: State, x: Array, y: float, weigh: Weigh, donate: bool = False) -> tuple[State, Seen]:
        """Fold one observation in. With `donate` the arrays of `state` may be overwritten: same bits, no copy."""

    def confine(self, state: State, beta: float) -> State:
        """Narrow the confidence set to radius β, where the class keeps one explicitly (𝓕_t ⊆ 𝓕_{t−1}).

        What is returned may share arrays with `state`.
        """

    def log_complexity(self, state: State) -> float:
        """The data-dependent stand-in for 2 ln N: ln det(Λ)/det(λI) for the classes of linear algebra."""

    def log_covering(self, gamma: float) -> float:
        """ln N(γ, 𝓕), for the radius of th:bandit."""


class Refittable(FunctionClass[State], Protocol[State]):
    """A class linear in its parameters, f = θᵀψ, whose fit can be computed anew when the targets change.

    The regressions of an episode need it: their targets contain values that are learned at the same time.
    """

    def coordinates(self, state: State, x: Array) -> Array:
        """ψ: `(n, d)` → `(n, m)`, or `(d,)` → `(m,)`, with m the number of parameters."""

    def solve(self, state: State, moments: Array) -> Array:
        """Λ⁻¹v for each row v of `(k, m)`, or for one `(m,)`; with v = Σ ψy/σ² it is the weighted fit."""

    def predict(self, state: State, thetas: Array, x: Array) -> tuple[Array, Array]:
        """`(n, d)` points under k fits θ `(k, m)` → θᵀψ `(n, k)`, and b `(n,)`, which they share."""

    def axes(self, before: State, after: State) -> Array | None:
        """Q `(m, m)`, with which an observation moved the coordinates, v ← vQ for a sum v of them; None if it did not.

        A new coordinate, in which nothing was seen before, moves none of the others.
        """
