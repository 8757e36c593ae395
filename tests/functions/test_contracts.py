"""The contract suite on every function class."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from holdfast.errors import InvalidConfiguration
from holdfast.functions import CLASSES
from tests.contracts import CASES, CHECKS, Case


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_class_keeps_the_contract(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


def test_every_class_of_the_catalogue_has_two_cases_of_its_own() -> None:
    counts = Counter(case.kind for case in CASES)
    assert set(counts) == set(CLASSES)
    assert min(counts.values()) >= 2
    for case in CASES:
        assert type(case.function) is CLASSES[case.kind]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [(kind, {"ridge": ridge}) for kind in CLASSES for ridge in (0.0, -1.0, float("nan"), float("inf"), "1", True)]
    + [(kind, {"norm": 0.0}) for kind in ("linear", "quadratic", "fourier", "kernel", "logistic", "tabular")]
    + [(kind, {"dimension": d}) for kind in ("linear", "kernel", "logistic") for d in (0, 2_049, 1.5, "3", True)]
    + [
        ("quadratic", {"dimension": 64}),
        ("quadratic", {"affine": "yes"}),
        ("fourier", {"frequencies": 0}),
        ("fourier", {"frequencies": 1_025}),
        ("fourier", {"seed": -1}),
        ("kernel", {"core_size": 0}),
        ("kernel", {"core_size": 5_000}),
        ("kernel", {"threshold": 0.0}),
        ("logistic", {"norm": 50.0}),
        ("tabular", {"cells": 0}),
        ("tabular", {"cells": 2_000_000}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(kind: str, changes: dict[str, Any]) -> None:
    sensible: dict[str, Any] = {"finite": {"candidates": ((0.1, 0.2),)}, "tabular": {"cells": 4}}
    with pytest.raises(InvalidConfiguration):
        CLASSES[kind](**{**sensible.get(kind, {"dimension": 2}), **changes})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_case_is_at_the_default_ridge(case: Case) -> None:
    defaults: dict[str, Any] = {field.name: field.default for field in fields(case.function)}
    assert case.function.ridge != defaults["ridge"]
