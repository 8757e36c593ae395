"""From noise, complexity and insured budget to the weight threshold α and the confidence radius β.

| symbol | name here    | meaning |
|--------|--------------|---------|
| ζ̄      | `budget`     | the total corruption insured against, in units of a reward scaled to [0, 1] |
| δ      | `confidence` | probability that the guarantee fails |
| η      | `noise`      | sub-Gaussian scale of an honest reward |
| R      | `radius`     | what noise and regulariser alone can do to the fit, in units of b |
| s      | `scale`      | how much of R is paid for exploration |
| κ      | `insurance`  | how much of R the whole budget may add: α·ζ̄ = κR |
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol


class Confidence(NamedTuple):
    """α, the uncertainty above which a reward is down-weighted, and β, the radius of optimism."""

    alpha: float
    beta: float


class Radius(Protocol):
    """A rule for α and β."""

    @property
    def budget(self) -> float:
        """ζ̄."""

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        """α and β now. `alpha_before` is the largest α any reward has been weighted with so far."""


@dataclass(frozen=True)
class Practical:
    """R = η·sqrt(2 ln(1/δ) + logcomplexity) + sqrt(λ)·B;  α = κR/ζ̄;  β = sR + αζ̄.

    The exploration part sR may be scaled down, as every practitioner does. The insurance part αζ̄ may not: for classes
    linear in their parameters |bias of f̂(z)| ≤ α·ζ̄·b(z) is exact. Since every reward learned so far was weighted with
    some α, that α must be the largest of them: it never falls, even when the noise estimate does.
    """

    budget: float
    confidence_level: float
    ridge: float
    norm: float
    scale: float
    insurance: float

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        radius = noise * math.sqrt(self._certainty + log_complexity) + self._shrinkage
        if self.budget == 0.0:
            return Confidence(math.inf, self.scale * radius)
        alpha = max(alpha_before, self.insurance * radius / self.budget)
        return Confidence(alpha, self.scale * radius + alpha * self.budget)

    @cached_property
    def _certainty(self) -> float:
        return -2.0 * math.log(self.confidence_level)

    @cached_property
    def _shrinkage(self) -> float:
        return math.sqrt(self.ridge) * self.norm


@dataclass(frozen=True)
class Nested:
    """For classes that drop functions for ever (𝓕_t ⊆ 𝓕_{t−1}): nothing is scaled down, or the truth would be dropped.

    With R = η·sqrt(2 ln(1/δ) + 2 ln N) the fit over N functions errs by at most 2R from noise, and by 4√2·αζ̄ from
    corruption: eq:|hatft-fb|_sigma with λ ≤ β² bounds the cross-term of the lies by 4αζ̄·sqrt(λ + β²) ≤ 4√2·αζ̄·β.
    """

    budget: float
    confidence_level: float
    insurance: float

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        radius = noise * math.sqrt(-2.0 * math.log(self.confidence_level) + log_complexity)
        if self.budget == 0.0:
            return Confidence(math.inf, 2.0 * radius)
        alpha = max(alpha_before, self.insurance * radius / self.budget)
        return Confidence(alpha, 2.0 * radius + 4.0 * math.sqrt(2.0) * alpha * self.budget)


@dataclass(frozen=True)
class Theory:
    """th:bandit with c_β = 1: α = sqrt(ln N)/ζ̄,  β = αζ̄ + sqrt(ln(N/δ)) + sqrt(c₀),  c₀ = sqrt(η² ln(2/δ)).

    `log_covering` is ln N(γ, 𝓕) at γ = 1/(T·max(1, ζ̄)). A class without an explicit 𝓕_t adds sqrt(λ + β²) widths of
    optimism (`regulariser` is λ): the denominator of eq:bonus_mdp at the edge of the confidence set.
    """

    budget: float
    confidence_level: float
    log_covering: float
    regulariser: float = 0.0

    def confidence(self, noise: float, log_complexity: float, alpha_before: float) -> Confidence:
        beta = math.sqrt(self.log_covering - math.log(self.confidence_level))
        beta += math.sqrt(noise * math.sqrt(math.log(2.0 / self.confidence_level)))
        if self.budget == 0.0:
            return Confidence(math.inf, math.sqrt(beta**2 + self.regulariser))
        alpha = math.sqrt(self.log_covering) / self.budget
        return Confidence(alpha, math.sqrt((beta + alpha * self.budget) ** 2 + self.regulariser))


def tied_ridge(
    scale: float, insurance: float, noise: float, confidence_level: float, norm: float, prior_width: float
) -> float:
    """The largest λ ≤ 1 with which an unseen unit point starts with a bonus of at least the whole reward range.

    With c = s + κ (κ = 0 when nothing is insured), b₀ = p/sqrt(λ) and β₀ = c·(η·sqrt(2 ln 1/δ) + sqrt(λ)·B), the
    condition β₀·b₀ ≥ 1 reads sqrt(λ)·(1/p − cB) ≤ c·η·sqrt(2 ln 1/δ). A larger λ makes a pessimist that never looks.
    """
    c = scale + insurance
    reach = c * noise * math.sqrt(-2.0 * math.log(confidence_level))
    shortfall = 1.0 / prior_width - c * norm
    return 1.0 if reach >= shortfall else (reach / shortfall) ** 2
