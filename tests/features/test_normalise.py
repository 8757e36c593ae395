import numpy as np
import pytest

from holdfast.errors import InvalidInput
from holdfast.features.normalise import normalise

ROWS = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])


def test_clip_shortens_only_what_is_too_long() -> None:
    np.testing.assert_allclose(normalise(ROWS, "clip"), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])


def test_unit_makes_every_row_but_zero_one_long() -> None:
    np.testing.assert_allclose(normalise(ROWS, "unit"), [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]])


def test_unit_works_on_rows_too_small_to_square() -> None:
    np.testing.assert_allclose(
        normalise(np.array([[3e-200, 4e-200], [2.7e-162, 0.0]]), "unit"), [[0.6, 0.8], [1.0, 0.0]]
    )


def test_none_leaves_rows_in_the_ball_alone() -> None:
    np.testing.assert_array_equal(normalise(ROWS[1:], "none"), ROWS[1:])


def test_none_refuses_a_row_outside_the_ball_and_says_which() -> None:
    with pytest.raises(InvalidInput) as refused:
        normalise(ROWS[::-1], "none")
    assert refused.value.pointer == "/actions/2"
