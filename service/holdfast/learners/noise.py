"""How noisy honest rewards are: given by the caller, or estimated while learning.

The estimate is a mean of squared residuals that starts at a prior and counts each by 1/(1 + b²), so that points the
fit knew nothing of say little about noise. It needs no outlier rule to be robust: rewards lie in [0, 1], so ζ units of
corruption move its square by at most 2ζ/n at a given fit, and it can never leave [0, 1/2], the sub-Gaussian range of
such rewards. Cutting off large residuals, the usual way, would call every click on a rare item an outlier and collapse
to zero.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

NOISE_MAX = 0.5  # Hoeffding: a reward in [0, 1] is 1/2-sub-Gaussian
NOISE_MIN = 0.01  # less would tie λ to rounding


class NoiseState(NamedTuple):
    """Sums over the rewards learned, the prior included."""

    mass: float
    squares: float


@dataclass(frozen=True)
class GivenNoise:
    """η is what the caller says."""

    level: float

    def init(self) -> NoiseState:
        return NoiseState(1.0, self.level**2)

    def update(self, state: NoiseState, residual: float, width: float) -> NoiseState:
        return state

    def level_of(self, state: NoiseState) -> float:
        return self.level


@dataclass(frozen=True)
class EstimatedNoise:
    """η is learned, starting as if `prior_count` rewards had shown the level `prior`."""

    prior: float = 0.25
    prior_count: float = 10.0

    def init(self) -> NoiseState:
        return NoiseState(self.prior_count, self.prior_count * self.prior**2)

    def update(self, state: NoiseState, residual: float, width: float) -> NoiseState:
        trust = 1.0 / (1.0 + width * width)
        return NoiseState(state.mass + trust, state.squares + trust * residual * residual)

    def level_of(self, state: NoiseState) -> float:
        level = math.sqrt(state.squares / state.mass)
        return NOISE_MIN if level < NOISE_MIN else NOISE_MAX if level > NOISE_MAX else level
