"""The hash is the same on every machine and in every version, for ever."""

import json
from pathlib import Path

import numpy as np

from holdfast.features import Candidate, Hashed
from holdfast.features.hashing import hash_name, hash_pairs, scatter

VECTORS = json.loads((Path(__file__).parent / "hash_vectors.json").read_text(encoding="utf-8"))


def test_names_hash_to_the_committed_vectors() -> None:
    for vector in VECTORS["names"]:
        assert f"{hash_name(*vector['parts']):016x}" == vector["hash"]


def test_pairs_hash_to_the_committed_vectors() -> None:
    for vector in VECTORS["pairs"]:
        left, right = (np.array([int(vector[side], 16)], dtype=np.uint64) for side in ("left", "right"))
        assert f"{int(hash_pairs(left, right)[0]):016x}" == vector["hash"]


def test_objects_encode_to_the_committed_rows() -> None:
    for vector in VECTORS["rows"]:
        hashed = Hashed(vector["dimension"])
        row = hashed.encode(vector["context"], [Candidate("any", vector["action"])])[0]
        np.testing.assert_allclose(row, vector["phi"], rtol=0, atol=1e-15)


def test_pairs_come_in_row_major_order_and_are_not_symmetric() -> None:
    one, two = np.array([1, 2], dtype=np.uint64), np.array([3, 4], dtype=np.uint64)
    pairs = hash_pairs(one, two)
    assert pairs[1] == hash_pairs(one[:1], two[1:])[0]
    assert hash_pairs(one, one)[1] != hash_pairs(one, one)[2]


def test_the_lowest_bit_is_the_sign_and_the_others_the_column() -> None:
    hashes = np.array([2 * 5, 2 * 5 + 1, 2 * 13], dtype=np.uint64)
    assert scatter(hashes, np.array([3.0, 1.0, 0.5]), 8).tolist() == [0, 0, 0, 0, 0, 2.5, 0, 0]


def test_columns_and_signs_are_spread_evenly() -> None:
    hashes = np.array([hash_name("text", str(i)) for i in range(20_000)], dtype=np.uint64)
    columns = np.bincount(((hashes >> np.uint64(1)) % np.uint64(100)).astype(int), minlength=100)
    assert 140 < columns.min() <= columns.max() < 260
    assert abs((hashes & np.uint64(1)).mean() - 0.5) < 0.02
