"""The contract suite on every function class."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_case_is_at_the_default_ridge(case: Case) -> None:
    defaults: dict[str, Any] = {field.name: field.default for field in fields(case.function)}  # type: ignore[arg-type]
    assert case.function.ridge != defaults["ridge"]
