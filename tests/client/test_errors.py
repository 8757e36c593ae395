"""The exception tree."""

import pickle
import re

import pytest

from holdfast_client import errors
from holdfast_client.errors import Flaw, HoldfastError, NoAnswer, Problem, UndeliveredRewards, UnexpectedAnswer

PROBLEM = Problem(409, "paused", "Conflict", "the learner is paused", (Flaw("/a", "b"),), {"more": 1})


def test_the_tree_is_as_it_is_drawn() -> None:
    assert errors.__doc__ is not None
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in errors.__doc__.splitlines():
        if match := re.match(r"^((?:│   |    )*)(?:├── |└── )?([A-Z]\w+)\s{2,}", line):
            depth = 0 if line.startswith("HoldfastError") else len(match[1]) // 4 + 1
            above = [*above[:depth], match[2]]
            drawn[match[2]] = above[-2] if depth else "Exception"
    real = {
        name: cls.__base__.__name__
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and issubclass(cls, HoldfastError) and cls.__base__ is not None
    }
    assert drawn == real


@pytest.mark.parametrize(
    "error",
    [
        errors.refusal(409)(PROBLEM, "r-1", 3.0),
        NoAnswer("reset", nothing_sent=True),
        UnexpectedAnswer("a page", 200, "r-2"),
        UndeliveredRewards(3),
    ],
)
def test_errors_travel_between_processes(error: HoldfastError) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is type(error)
    assert vars(there) == vars(error)
    assert str(there) == str(error)
