"""Numbers read from their JSON text are those that Python would read, or are not taken at all."""

import json
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.arrays import Array
from holdfast.features.limits import NUMBER_MAX
from holdfast.features.written import BEYOND
from holdfast.features.written import rows_of as rows_of_kinds


def rows_of(vectors: Sequence[bytes], length: int) -> Array | None:
    """Of one kind."""
    rows = rows_of_kinds((vectors, length))
    return None if rows is None else rows[0]


NUMBERS = st.one_of(st.floats(-NUMBER_MAX, NUMBER_MAX), st.integers(-int(NUMBER_MAX), int(NUMBER_MAX)))


VECTORS = st.integers(0, 5).flatmap(
    lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1, max_size=5)
)


@given(VECTORS, st.sampled_from(["", " ", "\n\t"]))
def test_every_number_has_the_bits_that_python_gives_it(vectors: list[list[float]], space: str) -> None:
    texts = [json.dumps(vector, separators=(f"{space},{space}", ":")).encode() for vector in vectors]
    flat = [float(number) for vector in vectors for number in vector]
    rows = rows_of(texts, len(vectors[0]))
    assert rows is not None
    assert rows.shape == (len(vectors), len(vectors[0]))
    assert rows.tobytes() == struct.pack(f"{len(flat)}d", *flat)


ODD = st.one_of(st.just(BEYOND), st.integers(0, 1))  # what tells where a vector ends, in the vectors themselves


@given(st.integers(0, 3), st.lists(st.lists(ODD, max_size=7), max_size=5))
def test_vectors_are_taken_if_each_has_its_length_and_none_a_number_beyond_bounds(
    length: int, vectors: list[list[int]]
) -> None:
    is_right = all(len(vector) == length and BEYOND not in vector for vector in vectors)
    rows = rows_of([json.dumps(vector).encode() for vector in vectors], length)
    assert (rows.tolist() if rows is not None else None) == (vectors if is_right else None)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?", fullmatch=True))
def test_a_number_is_read_as_python_reads_it_however_it_is_written(text: str) -> None:
    expected, numbers = float(json.loads(text)), rows_of([f"[{text}]".encode()], 1)
    if numbers is None:
        assert not abs(expected) <= NUMBER_MAX
    else:
        assert numbers.tobytes() == struct.pack("d", expected)


@pytest.mark.parametrize(
    "vector",
    [
        b"[1, true]", b"[1, null]", b'[1, "2"]', b"[1, NaN]", b"[1, Infinity]", b"[1, 1e400]", b"[1, 1.1e12]",
        b"[1, 01]", b"[1, 2.]", b"[1, .5]", b"[1, +2]", b"[1, 18446744073709551616]", b"[1]", b"[1, 2, 3]", b"[]",
        b"[1, 2,]", b"[1 2]", b"[[1, 2], []]", b"[[1], 2]", b"[1, [2]]", b"[1, {}]", b'{"a": 1, "b": 2}', b"12",
        b'"12"', b"null", b"", b"[1, 2", b"1, 2]", b"[1], [2]", b"[1, 2]]", b"[1, 2] x", b"[1, \xff]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 1])
def test_whatever_is_not_a_list_of_so_many_numbers_is_not_taken(vector: bytes, place: int) -> None:
    vectors = [b"[3, 4]", b"[5, 6]"]
    assert rows_of(vectors, 2) is not None
    vectors[place] = vector
    assert rows_of(vectors, 2) is None


def test_lengths_are_those_of_each_and_not_of_all_together() -> None:
    assert rows_of([b"[1]", b"[2, 3, 4]"], 2) is None


@pytest.mark.parametrize("pair", [(b"1", b"[[2]]"), (b"[1, []]", b"2"), (b"[[1]]", b"2"), (b"2", b"[[], 1]")])
def test_a_list_inside_of_one_does_not_make_up_for_a_mere_number(pair: tuple[bytes, bytes]) -> None:
    assert rows_of(pair, 1) is None


def test_vectors_of_no_numbers_are_no_numbers() -> None:
    assert rows_of([b"[]", b"[ ]"], 0) is not None
    assert rows_of([b"[]", b"[1]"], 0) is None


def test_what_was_read_stays_as_it_is_when_more_is_read() -> None:
    first = rows_of([b"[1, 2]"], 2)
    for number in range(50):
        assert rows_of([f"[{number}, 3]".encode()], 2) is not None
    assert first is not None
    assert first.tolist() == [[1.0, 2.0]]


def test_vectors_of_two_lengths_are_read_at_once_each_with_its_own() -> None:
    rows = rows_of_kinds(([b"[1, 2]"], 2), ([b"[3]", b"[4]"], 1), ([], 5))
    assert rows is not None
    assert [some.tolist() for some in rows] == [[[1.0, 2.0]], [[3.0], [4.0]], []]


@pytest.mark.parametrize(
    "kinds",
    [
        (([b"[1, 2, 3]"], 2), ([b"[4]"], 2)),  # as many numbers in all
        (([b"[1, 2]"], 1), ([b"[3]"], 2)),
        (([b"1"], 1), ([b"[[2], 3]"], 2)),
        (([b"[1, 4e12]"], 2), ([b"[3]"], 1)),
        (([b"[1, 4e12, 2]"], 1), ([], 1)),  # a row that ends where it should not
    ],
)
def test_one_kind_does_not_make_up_for_another(kinds: tuple[tuple[list[bytes], int], ...]) -> None:
    assert rows_of_kinds(*kinds) is None
