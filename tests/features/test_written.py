"""Numbers read from their JSON text are those that Python would read, or are not taken at all."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.features.limits import NUMBER_MAX
from holdfast.features.written import numbers_of

NUMBERS = st.one_of(st.floats(-NUMBER_MAX, NUMBER_MAX), st.integers(-int(NUMBER_MAX), int(NUMBER_MAX)))


@given(st.lists(st.lists(NUMBERS, max_size=5), min_size=1, max_size=5), st.sampled_from(["", " ", "\n\t"]))
def test_every_number_has_the_bits_that_python_gives_it(vectors: list[list[float]], space: str) -> None:
    texts = [json.dumps(vector, separators=(f"{space},{space}", ":")).encode() for vector in vectors]
    flat = [float(number) for vector in vectors for number in vector]
    numbers = numbers_of(texts, list(map(len, vectors)))
    assert numbers is not None
    assert numbers.tobytes() == struct.pack(f"{len(flat)}d", *flat)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?", fullmatch=True))
def test_a_number_is_read_as_python_reads_it_however_it_is_written(text: str) -> None:
    expected, numbers = float(json.loads(text)), numbers_of([f"[{text}]".encode()], [1])
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
    assert numbers_of(vectors, [2, 2]) is not None
    vectors[place] = vector
    assert numbers_of(vectors, [2, 2]) is None


def test_lengths_are_those_of_each_and_not_of_all_together() -> None:
    assert numbers_of([b"[1]", b"[2, 3, 4]"], [2, 2]) is None


def test_vectors_of_no_numbers_are_no_numbers() -> None:
    assert numbers_of([b"[]", b"[ ]"], [0, 0]) is not None
    assert numbers_of([b"[]", b"[1]"], [0, 0]) is None


def test_what_was_read_stays_as_it_is_when_more_is_read() -> None:
    first = numbers_of([b"[1, 2]"], [2])
    for number in range(50):
        assert numbers_of([f"[{number}, 3]".encode()], [2]) is not None
    assert first is not None
    assert first.tolist() == [1.0, 2.0]
