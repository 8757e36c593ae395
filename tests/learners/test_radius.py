import math

import numpy as np
import pytest

from holdfast.learners.radius import Nested, Practical, Theory, tied_ridge


def test_the_practical_radius_is_the_formula_of_the_design() -> None:
    rule = Practical(budget=10.0, confidence_level=0.05, ridge=0.25, norm=2.0, scale=0.1, insurance=0.6)
    radius = 0.3 * math.sqrt(2 * math.log(20) + 7.0) + 0.5 * 2.0
    alpha, beta = rule.confidence(noise=0.3, log_complexity=7.0, alpha_before=0.0)
    assert math.isclose(alpha, 0.6 * radius / 10.0)
    assert math.isclose(beta, 0.1 * radius + alpha * 10.0)


def test_the_insurance_covers_the_largest_alpha_ever_used() -> None:
    rule = Practical(10.0, 0.05, 0.25, 2.0, 0.1, 0.6)
    alpha, beta = rule.confidence(0.3, 7.0, alpha_before=5.0)
    assert alpha == 5.0
    assert beta > 50.0


def test_without_budget_nothing_is_down_weighted_and_nothing_insured() -> None:
    rule = Practical(0.0, 0.05, 0.25, 2.0, 0.3, 0.0)
    alpha, beta = rule.confidence(0.3, 7.0, 0.0)
    assert alpha == math.inf
    assert math.isclose(beta, 0.3 * (0.3 * math.sqrt(2 * math.log(20) + 7.0) + 1.0))


def test_the_theory_radius_is_that_of_the_theorem() -> None:
    rule = Theory(budget=8.0, confidence_level=0.1, log_covering=30.0)
    alpha, beta = rule.confidence(noise=0.2, log_complexity=99.0, alpha_before=0.0)
    c0 = math.sqrt(0.2**2 * math.log(2 / 0.1))
    assert math.isclose(alpha, math.sqrt(30.0) / 8.0)
    assert math.isclose(beta, alpha * 8.0 + math.sqrt(30.0 + math.log(1 / 0.1)) + math.sqrt(c0))
    implicit = Theory(8.0, 0.1, 30.0, regulariser=30.0).confidence(0.2, 99.0, 0.0)
    assert math.isclose(implicit.beta, math.sqrt(beta**2 + 30.0))


def test_the_nested_radius_scales_nothing_down() -> None:
    rule = Nested(budget=8.0, confidence_level=0.1, insurance=0.5)
    radius = 0.2 * math.sqrt(2 * math.log(10) + 2 * math.log(40))
    alpha, beta = rule.confidence(0.2, 2 * math.log(40), 0.0)
    assert math.isclose(alpha, 0.5 * radius / 8.0)
    assert math.isclose(beta, 2 * radius + 4 * math.sqrt(2) * alpha * 8.0)
    assert rule.confidence(0.2, 2 * math.log(40), alpha_before=9.0).alpha == 9.0
    assert Nested(0.0, 0.1, 0.5).confidence(0.2, 2 * math.log(40), 0.0) == (math.inf, 2 * radius)


@pytest.mark.parametrize(("scale", "insurance"), [(0.3, 0.0), (0.1, 0.6), (0.2, 0.1), (0.05, 0.0)])
@pytest.mark.parametrize("norm", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("prior_width", [1.0, 0.25])
def test_the_tied_ridge_is_the_largest_that_starts_at_the_cap(
    scale: float, insurance: float, norm: float, prior_width: float
) -> None:
    def first_bonus(ridge: float) -> float:
        rule = Practical(1.0 if insurance else 0.0, 0.05, ridge, norm, scale, insurance)
        return rule.confidence(0.2, 0.0, 0.0).beta * prior_width / math.sqrt(ridge)

    ridge = tied_ridge(scale, insurance, 0.2, 0.05, norm, prior_width)
    assert 0.0 < ridge <= 1.0
    assert first_bonus(ridge) >= 1.0 - 1e-12
    if ridge < 1.0:
        assert first_bonus(ridge * 1.01) < 1.0
    else:
        assert np.isclose(ridge, 1.0)
