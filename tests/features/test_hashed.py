from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidConfiguration, InvalidInput
from holdfast.features import Candidate, Hashed
from holdfast.features.hashed import read_tokens

PLAIN = Hashed(dimension=2_048, interactions=(), normalise="unit")


def _row(features: Any, context: Any = None, hashed: Hashed = PLAIN) -> Any:
    return hashed.encode(context, [Candidate("a", features)])[0]


def _tokens(features: Any) -> list[tuple[str, float]]:
    return [(token.namespace, token.value) for token in read_tokens("action", features, "")]


def test_each_kind_of_value_becomes_the_features_it_should() -> None:
    features = {"price": 2.5, "genre": "jazz", "new": True, "embedding": [0.1, 0.2], "seller": {"rating": 4}}
    assert _tokens(features) == [("", 2.5), ("", 1.0), ("", 1.0), ("", 0.1), ("", 0.2), ("seller", 4.0)]


def test_names_that_start_with_an_underscore_are_ignored() -> None:
    assert _tokens({"_secret": 1.0, "open": 1.0, "_ns": {"a": 1}, "ns": {"_b": 1}}) == [("", 1.0)]


def test_the_order_of_names_does_not_matter() -> None:
    np.testing.assert_array_equal(_row({"a": 1.0, "b": "x"}), _row({"b": "x", "a": 1.0}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "x"}, {"a": "y"}),
        ({"a": "x"}, {"b": "x"}),
        ({"a": True}, {"a": False}),
        ({"a": True}, {"a": "true"}),
        ({"a": "1"}, {"a": 1}),
        ({"a": 1}, {"a": 2}),
        ({"a": [1.0, 2.0]}, {"a": [2.0, 1.0]}),
        ({"n": {"a": 1}}, {"m": {"a": 1}}),
        ({"n": {"a": 1}}, {"a": 1}),
        ({"ab": "c"}, {"a": "bc"}),
    ],
)
def test_different_features_get_different_rows(one: Any, other: Any) -> None:
    assert not np.array_equal(_row(one), _row(other))


def test_context_and_action_with_the_same_name_differ() -> None:
    assert not np.array_equal(_row({"a": 1.0}, None), _row(None, {"a": 1.0}))


def test_interactions_cross_context_and_action_by_default() -> None:
    hashed = Hashed(dimension=2_048, normalise="unit")
    rock, jazz = {"genre": "rock"}, {"genre": "jazz"}
    young, old = {"age": "young"}, {"age": "old"}
    rows = {(u, i): _row(a, c, hashed) for u, c in (("y", young), ("o", old)) for i, a in (("r", rock), ("j", jazz))}
    # Without the crossed column the four rows would satisfy this identity, and no linear function could tell taste.
    mixed = rows["y", "r"] - rows["y", "j"] - rows["o", "r"] + rows["o", "j"]
    assert np.abs(mixed).max() > 0.1
    plain = {
        k: _row(a, c) for k, c, a in (("yr", young, rock), ("yj", young, jazz), ("or", old, rock), ("oj", old, jazz))
    }
    np.testing.assert_allclose(plain["yr"] - plain["yj"] - plain["or"] + plain["oj"], 0.0, atol=1e-12)


def test_interactions_can_name_namespaces() -> None:
    hashed = Hashed(dimension=2_048, interactions=(("user", "item"),), normalise="none")
    crossed = Hashed(dimension=2_048, interactions=(("user", "other"),), normalise="none")
    context, action = {"user": {"age": 0.1}, "device": {"os": 0.1}}, {"item": {"price": 0.1}}
    constant_removed = [
        np.count_nonzero(
            h._expand(list(read_tokens("context", context, "")), list(read_tokens("action", action, "")), "").values
        )
        for h in (hashed, crossed)
    ]
    assert constant_removed == [5, 4]  # the constant, three features, and one product or none


def test_every_candidate_has_a_feature_even_without_features() -> None:
    assert np.linalg.norm(_row(None)) == 1.0
    assert np.linalg.norm(_row({})) == 1.0


def test_rows_land_in_the_unit_ball_of_the_asked_dimension() -> None:
    phi = Hashed(dimension=7).encode({"u": "x", "v": 1e12}, [Candidate("a", {"n": [1.0] * 50}), Candidate("b")])
    assert phi.shape == (2, 7)
    assert (np.linalg.norm(phi, axis=1) <= 1.0 + 1e-12).all()


def test_signs_keep_collisions_unbiased() -> None:
    """The inner product of two random sparse objects is zero on average, whatever the dimension."""
    hashed = Hashed(dimension=16, interactions=(), normalise="unit")
    rows = np.array([_row({f"f{i}": "x", f"g{i}": "y"}, None, hashed) for i in range(400)])
    rows -= rows.mean(axis=0)
    assert abs(np.mean(rows[::2] @ rows[1::2].T)) < 0.02


@pytest.mark.parametrize(
    ("features", "pointer"),
    [
        ([1.0], "/actions/0/features"),
        ("text", "/actions/0/features"),
        ({"a": None}, "/actions/0/features/a"),
        ({"a": {"b": {"c": 1}}}, "/actions/0/features/a/b"),
        ({"a": [1.0, "x"]}, "/actions/0/features/a"),
        ({"a": [True]}, "/actions/0/features/a"),
        ({"a": float("nan")}, "/actions/0/features/a"),
        ({"a": 10**400}, "/actions/0/features/a"),
        ({"a": [0.0] * 4_097}, "/actions/0/features/a"),
        ({"a/b": float("inf")}, "/actions/0/features/a~1b"),
        ({"a": "\ud800"}, "/actions/0/features/a"),
        ({"\ud800": 1}, "/actions/0/features"),
        ({"x" * 257: 1}, "/actions/0/features"),
        ({"a": "x" * 1_025}, "/actions/0/features/a"),
        ({7: 1}, "/actions/0/features"),
        ({"": {"a": 1}}, "/actions/0/features/"),
        ({str(i): i for i in range(4_097)}, "/actions/0/features"),
    ],
)
def test_bad_features_are_refused_with_their_place(features: Any, pointer: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        _row(features)
    assert refused.value.pointer == pointer


def test_too_many_interaction_terms_are_refused_before_they_are_made() -> None:
    big = {"v": [1.0] * 4_000}
    with pytest.raises(InvalidInput, match="interaction"):
        Hashed().encode(big, [Candidate("a", big)])
    wide = {"v": [1.0] * 250}
    with pytest.raises(InvalidInput, match="one request"):
        Hashed().encode(wide, [Candidate(str(i), wide) for i in range(100)])


@pytest.mark.parametrize(
    "configuration",
    [
        {"dimension": 0},
        {"dimension": 2_049},
        {"normalise": "maybe"},
        {"interactions": (("user", "user"),)},
        {"interactions": ("ab",)},
        {"interactions": ((1, 2),)},
        {"interactions": (("a", "b", "c"),)},
        {"interactions": (("a", "b"),) * 2},
        {"interactions": tuple((f"a{i}", "b") for i in range(65))},
        {"interactions": None},
        {"interactions": 5},
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(configuration: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration):
        Hashed(**configuration)


JSON_LEAF = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.floats(), max_size=3)
)
JSON = st.dictionaries(
    st.text(max_size=4), st.one_of(JSON_LEAF, st.dictionaries(st.text(max_size=3), JSON_LEAF, max_size=3))
)


@given(JSON, JSON)
def test_any_json_is_encoded_into_the_ball_or_refused(context: Any, action: Any) -> None:
    try:
        phi = Hashed(dimension=32).encode(context, [Candidate("a", action)])
    except InvalidInput:
        return
    assert np.isfinite(phi).all()
    assert np.linalg.norm(phi) <= 1.0 + 1e-12
