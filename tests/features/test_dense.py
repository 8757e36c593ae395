import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidConfiguration, InvalidInput
from holdfast.features import Candidate, Dense
from holdfast.features.dense import Joint

A, B = Candidate("a", [0.3]), Candidate("b", [-0.5])


def _encode(dense: Dense, context: Any = None, *candidates: Candidate) -> Any:
    return dense.encode(context, candidates).tolist()


def test_action_is_the_actions_own_vector() -> None:
    assert _encode(Dense(action=1, joint="action"), None, A, B) == [[0.3], [-0.5]]


def test_concat_puts_the_context_before_the_action() -> None:
    assert _encode(Dense(context=2, action=1), [0.1, 0.2], A, B) == [[0.1, 0.2, 0.3], [0.1, 0.2, -0.5]]


def test_outer_has_every_product_and_both_vectors() -> None:
    dense = Dense(context=2, action=2, joint="outer", normalise="none")
    phi = _encode(dense, [0.1, 0.2], Candidate("a", [0.3, 0.5]))
    np.testing.assert_allclose(phi, [[0.03, 0.05, 0.06, 0.10, 0.1, 0.2, 0.3, 0.5]])
    assert dense.dimension == 8


def test_disjoint_has_one_block_per_declared_action() -> None:
    dense = Dense(context=2, joint="disjoint", actions=("x", "y", "z"))
    phi = _encode(dense, [0.1, 0.2], Candidate("z"), Candidate("x"))
    assert phi == [[0, 0, 0, 0, 0.1, 0.2], [0.1, 0.2, 0, 0, 0, 0]]


def test_disjoint_without_context_is_a_plain_bandit() -> None:
    assert _encode(Dense(joint="disjoint", actions=("x", "y")), None, Candidate("y")) == [[0.0, 1.0]]


def test_cell_numbers_state_and_action_for_a_table() -> None:
    dense = Dense(context=1, joint="cell", states=3, actions=("x", "y"))
    assert _encode(dense, [2], Candidate("x"), Candidate("y")) == [[4.0], [5.0]]
    assert (dense.dimension, dense.cells) == (1, 6)


def test_rows_are_brought_into_the_unit_ball() -> None:
    assert _encode(Dense(action=2, joint="action"), None, Candidate("a", [30.0, 40.0])) == [[0.6, 0.8]]


@pytest.mark.parametrize(
    ("context", "candidates", "pointer"),
    [
        ([0.1], [A], "/context"),
        (None, [A], "/context"),
        ("ab", [A], "/context"),
        ([True, 0.2], [A], "/context"),
        (["0.1", 0.2], [A], "/context"),
        ([float("nan"), 0.2], [A], "/context"),
        ([float("inf"), 0.2], [A], "/context"),
        ([1e13, 0.2], [A], "/context"),
        ([10**400, 0.2], [A], "/context"),
        (np.array([1, 2]), [A], "/context"),
        ([0.1, 0.2], [], "/actions"),
        ([0.1, 0.2], [A, Candidate("a", [0.1])], "/actions"),
        ([0.1, 0.2], [A, Candidate("", [0.1])], "/actions/1/id"),
        ([0.1, 0.2], [A, Candidate(7, [0.1])], "/actions/1/id"),
        ([0.1, 0.2], [A, Candidate("x" * 257, [0.1])], "/actions/1/id"),
        ([0.1, 0.2], [A, Candidate("b", [0.1, 0.2])], "/actions/1/features"),
        ([0.1, 0.2], [A, Candidate("b", None)], "/actions/1/features"),
        ([0.1, 0.2], [A, Candidate("b", {"f": 1})], "/actions/1/features"),
        ([0.1, 0.2], [Candidate(str(i), [0.1]) for i in range(10_001)], "/actions"),
    ],
)
def test_bad_input_is_refused_with_its_place(context: Any, candidates: list[Candidate], pointer: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Dense(context=2, action=1).encode(context, candidates)
    assert refused.value.pointer == pointer


@pytest.mark.parametrize(("context", "candidate"), [([5], "x"), ([-1], "x"), ([0.5], "x"), ([1], "w")])
def test_an_unknown_state_or_action_is_refused(context: list[float], candidate: str) -> None:
    dense = Dense(context=1, joint="cell", states=3, actions=("x", "y"))
    with pytest.raises(InvalidInput):
        dense.encode(context, [Candidate(candidate)])


@pytest.mark.parametrize(
    "candidates", [None, 5, ["a"], [("a", [0.1])], [None], {"a": [0.1]}, [Candidate("\ud800", [0.1])]]
)
def test_what_is_no_list_of_candidates_is_refused(candidates: Any) -> None:
    with pytest.raises(InvalidInput):
        Dense(action=1, joint="action").encode(None, candidates)


@pytest.mark.parametrize("features", [5, 0, True, [0.5], {"a": 1}])
def test_features_for_a_declared_action_are_refused(features: Any) -> None:
    with pytest.raises(InvalidInput):
        Dense(joint="disjoint", actions=("x",)).encode(None, [Candidate("x", features)])


@pytest.mark.parametrize(
    "configuration",
    [
        {"context": 5_000, "action": 1},
        {"context": 50, "action": 50, "joint": "outer"},
        {"context": 2, "joint": "disjoint"},
        {"context": 2, "actions": ("x",)},
        {"context": 2, "joint": "disjoint", "actions": ("x", "x")},
        {"context": 2, "action": 1, "joint": "disjoint", "actions": ("x",)},
        {"context": 2, "joint": "cell", "states": 3, "actions": ("x",)},
        {"context": 2, "states": 3},
        {"joint": "action"},
        {"context": 1, "joint": "disjoint", "actions": {"x", "y"}},
        {"context": 1, "joint": "disjoint", "actions": "xy"},
        {"context": 1, "joint": "disjoint", "actions": (1, 2)},
        {"context": 1, "joint": "disjoint", "actions": ("",)},
        {"context": 1, "joint": "disjoint", "actions": ("x" * 257,)},
        {"context": 1, "joint": ["concat"]},
        {"context": 1, "joint": "sum"},
        {"context": 1, "normalise": "maybe"},
        {"context": -1, "action": 4},
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(configuration: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration):
        Dense(**configuration)


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=3, max_size=3), st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=2)
)
def test_any_valid_numbers_end_in_the_unit_ball(context: list[float], action: list[float]) -> None:
    for joint in ("concat", "outer"):
        phi = Dense(context=3, action=2, joint=joint).encode(context, [Candidate("a", action)])
        assert np.isfinite(phi).all()
        assert np.linalg.norm(phi) <= 1.0 + 1e-12


@pytest.mark.parametrize("joint", ["concat", "action", "outer"])
@pytest.mark.parametrize("scale", [0.3, 3.0, 1e11, 1e12, 1.1e12, math.nan])
def test_many_requests_at_once_are_encoded_as_one_by_one(joint: Joint, scale: float) -> None:
    rng = np.random.default_rng(2)
    dense = Dense(context=2, action=3, joint=joint)
    requests = []
    for count in (1, 4, 2):
        context, vectors = rng.uniform(-1, 1, 2).tolist(), (scale * rng.choice([-1.0, 1.0], (count, 3))).tolist()
        requests.append((context, [Candidate(f"a{i}", vector) for i, vector in enumerate(vectors)]))
    try:
        alone = [dense.encode(*request).tobytes() for request in requests]
    except InvalidInput:
        assert not scale <= 1e12
        with pytest.raises(InvalidInput):
            dense.encode_all(requests)
    else:
        assert scale <= 1e12
        assert dense.encode_all(requests).tobytes() == b"".join(alone)
