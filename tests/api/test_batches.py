"""A batch of rewards is read item by item as soon as one of them is bad, and refused only for what concerns it all."""

import json
from typing import Any

import pytest

from holdfast.api.batches import decode_rewards
from holdfast.api.schemas import BATCH_MAX
from holdfast.errors import InvalidInput

GOOD = {"decision_id": "d1", "value": 0.5}
GOOD_TEXT = b'{"decision_id": "d1", "value": 0.5}'
BAD_TEXT = b'{"decision_id": "d2", "value": "much"}'


def written(*items: Any) -> bytes:
    return json.dumps({"rewards": items}).encode()


def joined(*items: bytes) -> bytes:
    return b'{"rewards": [%b]}' % b", ".join(items)


@pytest.mark.parametrize(
    ("item", "decision_id", "pointer"),
    [
        (GOOD | {"value": "much"}, "d1", "/value"),
        (GOOD | {"value": None}, "d1", "/value"),
        (GOOD | {"value": True}, "d1", "/value"),
        (GOOD | {"value": [1]}, "d1", "/value"),
        ({"decision_id": "d1"}, "d1", ""),
        ({"value": 1}, None, ""),
        (GOOD | {"decision_id": None}, None, "/decision_id"),
        (GOOD | {"decision_id": 7}, None, "/decision_id"),
        (GOOD | {"decision_id": ""}, None, "/decision_id"),
        (GOOD | {"decision_id": "secret-word" * 30}, None, "/decision_id"),
        (GOOD | {"decision_id": "secret-word\0"}, None, "/decision_id"),
        ({"value": "much", "decision_id": {"secret-word": 1}}, None, "/value"),
        (GOOD | {"secret-word": 1}, "d1", ""),
        (GOOD | {"source": "secret-word" * 30}, "d1", "/source"),
        (GOOD | {"source": 3}, "d1", "/source"),
        (GOOD | {"action_id": "secret-word" * 30}, "d1", "/action_id"),
        (GOOD | {"action_id": ["secret-word"]}, "d1", "/action_id"),
        ("secret-word", None, ""),
        (None, None, ""),
        ([], None, ""),
        ({}, None, ""),
    ],
)
def test_an_item_of_a_wrong_shape_is_told_in_its_place_and_the_others_are_read(
    item: Any, decision_id: str | None, pointer: str
) -> None:
    others = [{"decision_id": f"other {n}", "value": n} for n in range(3)]
    rewards, (bad,) = decode_rewards(written(others[0], item, *others[1:]))
    assert [(reward.decision_id, reward.value) for reward in rewards] == [(f"other {n}", n) for n in range(3)]
    assert (bad.place, bad.decision_id, bad.problem.pointer) == (1, decision_id, pointer)
    assert "secret-word" not in str(bad.problem)


@pytest.mark.parametrize("number", [b"1e400", b"1" * 5_000])
def test_a_number_that_is_too_large_to_be_one_is_the_problem_of_its_item(number: bytes) -> None:
    rewards, (bad,) = decode_rewards(joined(GOOD_TEXT, b'{"value": %b, "decision_id": "d2"}' % number))
    assert len(rewards) == 1
    assert (bad.decision_id, bad.problem.pointer) == ("d2", "/value")


def test_every_item_can_be_bad() -> None:
    rewards, bad = decode_rewards(written(*range(BATCH_MAX)))
    assert rewards == []
    assert [one.place for one in bad] == list(range(BATCH_MAX))


@pytest.mark.parametrize(
    ("body", "pointer", "rule"),
    [
        (joined(BAD_TEXT) + b"}", "", "JSON document"),
        (joined(BAD_TEXT)[:-1], "", "JSON document"),
        (joined(BAD_TEXT, b'{"decision_id": "d", "value": NaN}'), "", "JSON document"),
        (joined(BAD_TEXT, b'{"decision_id": "d", "value": -Infinity}'), "", "JSON document"),
        (joined(b'{"value": "much", "decision_id": "\xff"}'), "", "JSON document"),
        (joined(BAD_TEXT, b'{"value": 1, "decision_id": "d", "source": 1, "x": "\xed\xa0\x80"}'), "", "JSON document"),
        (joined(BAD_TEXT, b'{"value": "much", "decision_id": "\\ud800"}'), "", "JSON document"),
        (joined(b"[" * 7 + b"]" * 7), "", "nested deeper"),
        (joined(BAD_TEXT, b"[" * 100_000 + b"]" * 100_000), "", "nested deeper"),
        (joined(BAD_TEXT, b'{"decision_id": "d", "value": 1, "value": 0}'), "", "twice"),
        (joined(b'{"decision_id": "d", "value": "x", "y": {"z": 1, "z": 2}}'), "", "twice"),
        (b'{"rewards": [%b], "rewards": [%b]}' % (BAD_TEXT, GOOD_TEXT), "", "twice"),
        (b'{"rewards": [%b], "secret-word": 1}' % BAD_TEXT, "", "not known"),
        (joined(BAD_TEXT, *[GOOD_TEXT] * BATCH_MAX), "/rewards", "length"),
        (b'{"rewards": []}', "/rewards", "length"),
        (b'{"rewards": {"0": 1}}', "/rewards", "array"),
        (b"{}", "", "missing"),
        (b"[1]", "", "object"),
    ],
)
def test_what_is_wrong_with_the_whole_refuses_the_whole_though_an_item_is_bad_too(
    body: bytes, pointer: str, rule: str
) -> None:
    with pytest.raises(InvalidInput, match=rule) as refused:
        decode_rewards(body)
    assert refused.value.pointer == pointer
    assert "secret-word" not in str(refused.value)
