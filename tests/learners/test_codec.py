"""State files: exact, and refused when anything is wrong with them."""

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import DamagedState, MismatchedState, UnknownVersion, UnusableState
from holdfast.learners import Bandit, BanditSpec, build_bandit, codec
from tests.contracts import CASES, points

CANDIDATES = ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))
FUNCTIONS: list[dict[str, Any]] = [
    {"kind": "linear"},
    {"kind": "quadratic"},
    {"kind": "fourier", "frequencies": 5},
    {"kind": "kernel", "core_size": 7},
    {"kind": "logistic"},
    {"kind": "finite", "candidates": CANDIDATES},
]


def _learned(function: dict[str, Any], **changes: Any) -> tuple[Bandit[Any], Any]:
    bandit = build_bandit(BanditSpec(dimension=3, function=function, **changes))
    state = bandit.init()
    for row in points(bandit.function, 25, seed=1):
        state, _ = bandit.update(state, row, 0.6)
    return bandit, state


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return type(one) is type(other) and all(map(_same, one, other))
    return type(one) is type(other) and np.array_equal(one, other)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f["kind"])
@pytest.mark.parametrize("budget", [0, 3.0])
def test_a_state_comes_back_as_it_was(function: dict[str, Any], budget: float) -> None:
    bandit, state = _learned(function, budget=budget)
    back = codec.decode(codec.encode(state), like=bandit.init())
    assert _same(state, back)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_decoded_state_can_be_learned_on_in_place(case: Any) -> None:
    """Its arrays are its own and writable."""
    state = codec.decode(codec.encode(case.function.init()), like=case.function.init())
    case.function.observe(state, points(case.function, 1, seed=2)[0], 0.5, lambda width: 1.0, donate=True)


def test_the_same_state_gives_the_same_bytes() -> None:
    (_, one), (_, other) = _learned({"kind": "linear"}), _learned({"kind": "linear"})
    assert codec.encode(one) == codec.encode(other)


@given(st.data())
def test_any_flipped_bit_is_found(data: st.DataObject) -> None:
    bandit, state = _learned({"kind": "linear"})
    damaged = bytearray(codec.encode(state))
    index = data.draw(st.integers(0, len(damaged) - 1))
    damaged[index] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(UnusableState):
        codec.decode(bytes(damaged), like=bandit.init())


@given(st.data())
def test_any_truncation_is_found(data: st.DataObject) -> None:
    bandit, state = _learned({"kind": "linear"})
    whole = codec.encode(state)
    with pytest.raises(DamagedState):
        codec.decode(whole[: data.draw(st.integers(0, len(whole) - 1))], like=bandit.init())


@given(st.binary(max_size=300))
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(DamagedState):
        codec.decode(data, like=_learned({"kind": "linear"})[0].init())


@given(st.binary(max_size=300))
def test_a_good_checksum_over_nonsense_is_refused(body: bytes) -> None:
    import hashlib

    data = struct.pack("<8sH32s", b"HOLDFAST", 1, hashlib.sha256(body).digest()) + body
    with pytest.raises(UnusableState):
        codec.decode(data, like=_learned({"kind": "linear"})[0].init())


def test_an_unknown_version_is_named() -> None:
    bandit, state = _learned({"kind": "linear"})
    data = bytearray(codec.encode(state))
    data[8:10] = struct.pack("<H", 7)
    with pytest.raises(UnknownVersion, match="version 7"):
        codec.decode(bytes(data), like=bandit.init())


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f["kind"] not in ("linear", "logistic")], ids=str)
def test_the_state_of_a_learner_of_another_shape_is_refused(function: dict[str, Any]) -> None:
    """Linear and logistic have the same shape; only the learner's description tells them apart."""
    _, state = _learned(function)
    with pytest.raises(MismatchedState):
        codec.decode(codec.encode(state), like=_learned({"kind": "linear"})[0].init())


@pytest.mark.parametrize("data", [None, 5, "HOLDFAST" * 20])
def test_what_is_not_bytes_is_refused(data: Any) -> None:
    with pytest.raises(DamagedState):
        codec.decode(data, like=_learned({"kind": "linear"})[0].init())


def test_any_bytes_like_object_is_read() -> None:
    bandit, state = _learned({"kind": "linear"})
    data = codec.encode(state)
    for same in (bytearray(data), memoryview(data)):
        assert codec.encode(codec.decode(same, like=bandit.init())) == data


def test_a_state_in_single_precision_is_of_another_shape() -> None:
    bandit, state = _learned({"kind": "linear"})
    function = state.function._replace(theta=state.function.theta.astype(np.float32))
    with pytest.raises(MismatchedState):
        codec.decode(codec.encode(state._replace(function=function)), like=bandit.init())


@pytest.mark.parametrize("budgets", [(0, 5.0), (5.0, 0)])
def test_an_insured_learner_does_not_take_an_uninsured_state_nor_the_reverse(budgets: tuple[float, float]) -> None:
    _, state = _learned({"kind": "linear"}, budget=budgets[0])
    other = build_bandit(BanditSpec(dimension=3, budget=budgets[1]))
    with pytest.raises(MismatchedState):
        codec.restore(codec.encode(state), other)


@pytest.mark.parametrize(
    ("function", "change"),
    [
        ({"kind": "linear"}, lambda s: s._replace(alpha=-1.0)),
        ({"kind": "linear"}, lambda s: s._replace(rounds=-7)),
        ({"kind": "linear"}, lambda s: s._replace(noise=s.noise._replace(squares=-1.0))),
        ({"kind": "linear"}, lambda s: s._replace(function=s.function._replace(log_det=-1.0))),
        ({"kind": "logistic"}, lambda s: s._replace(function=s.function._replace(log_det=-1.0))),
        ({"kind": "kernel", "core_size": 7}, lambda s: s._replace(function=s.function._replace(size=-1))),
        ({"kind": "kernel", "core_size": 7}, lambda s: s._replace(function=s.function._replace(size=9))),
        ({"kind": "finite", "candidates": CANDIDATES}, lambda s: s._replace(function=s.function._replace(best=9))),
        (
            {"kind": "finite", "candidates": CANDIDATES},
            lambda s: s._replace(function=s.function._replace(candidates=s.function.candidates + 1.0)),
        ),
    ],
)
def test_a_state_no_learner_reaches_is_refused(function: dict[str, Any], change: Any) -> None:
    bandit, state = _learned(function)
    assert _same(codec.restore(codec.encode(state), bandit), state)
    with pytest.raises(UnusableState):
        codec.restore(codec.encode(change(state)), bandit)


@pytest.mark.parametrize("alpha", [math.nan, -math.inf])
def test_only_an_uninsured_alpha_may_be_infinite(alpha: float) -> None:
    bandit, state = _learned({"kind": "linear"})
    with pytest.raises(DamagedState):
        codec.decode(codec.encode(state._replace(alpha=alpha)), like=bandit.init())


def test_a_state_with_numbers_that_are_not_finite_is_refused() -> None:
    bandit, state = _learned({"kind": "linear"})
    state.function.theta[1] = np.nan
    with pytest.raises(DamagedState, match="finite"):
        codec.decode(codec.encode(state), like=bandit.init())
