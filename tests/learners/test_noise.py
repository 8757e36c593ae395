import numpy as np
import pytest

from holdfast.learners.noise import NOISE_MAX, NOISE_MIN, EstimatedNoise, GivenNoise


def _level(residuals: np.ndarray, widths: float = 0.01) -> float:
    noise = EstimatedNoise()
    state = noise.init()
    for residual in residuals:
        state = noise.update(state, float(residual), widths)
    return noise.level_of(state)


@pytest.mark.parametrize("level", [0.05, 0.2, 0.4])
def test_it_finds_the_level_of_gaussian_noise(level: float) -> None:
    residuals = np.random.default_rng(0).normal(size=20_000) * level
    assert abs(_level(residuals) / level - 1) < 0.05


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_it_finds_the_level_of_clicks_however_rare(rate: float) -> None:
    """Estimators that cut off outliers collapse to zero here."""
    clicks = (np.random.default_rng(1).random(20_000) < rate) - rate
    assert abs(_level(clicks) / np.sqrt(rate * (1 - rate)) - 1) < 0.08


def test_corruption_moves_its_square_by_at_most_twice_the_budget_over_the_rounds() -> None:
    rng = np.random.default_rng(2)
    means = rng.uniform(0.2, 0.8, size=1_000)
    honest = np.clip(means + 0.1 * rng.normal(size=1_000), 0, 1)
    corrupt = honest.copy()
    budget = 0.0
    for index in rng.permutation(1_000)[:60]:  # the change of each that hurts most
        forged = 1.0 if means[index] < 0.5 else 0.0
        budget += abs(forged - corrupt[index])
        corrupt[index] = forged
    shift = _level(corrupt - means) ** 2 - _level(honest - means) ** 2
    assert 0.0 < shift <= 2 * budget / 1_000


def test_points_the_fit_knew_nothing_of_say_little_about_noise() -> None:
    assert _level(np.full(50, 0.9), widths=10.0) < _level(np.full(50, 0.9), widths=0.1)


def test_the_estimate_stays_within_its_range() -> None:
    assert _level(np.ones(100_000)) == NOISE_MAX
    assert _level(np.zeros(1_000_000)) == NOISE_MIN


def test_a_given_level_is_kept() -> None:
    noise = GivenNoise(0.3)
    assert noise.level_of(noise.update(noise.init(), 0.9, 0.1)) == 0.3
