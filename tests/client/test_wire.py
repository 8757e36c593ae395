"""Every call as a value: where it goes, what it carries, and that the second time is the same as the first."""

import json
from typing import Any

import pytest

from holdfast_client import Unsendable, wire
from holdfast_client.bodies import Claim, Observation, claim, encode, listed, question, questions

CLAIM: Claim = {"decision_id": "d", "value": 1.0}
SEEN: Observation = {"actions": ["a"], "action_id": "a", "value": 1.0}
KEYED = {
    "reward": lambda: wire.reward("home", CLAIM),
    "reward_many": lambda: wire.reward_many("home", [CLAIM]),
    "observe": lambda: wire.observe("home", [SEEN]),
    "start_episode": lambda: wire.start_episode("home", "e"),
    "step": lambda: wire.step("home", "e", {}),
    "reward_step": lambda: wire.reward_step("home", "e", {}),
    "finish_episode": lambda: wire.finish_episode("home", "e", {}),
    "retract": lambda: wire.retract("home", "bot", None),
}


@pytest.mark.parametrize("name", KEYED)
def test_a_post_has_a_key_of_its_own(name: str) -> None:
    first, second = KEYED[name](), KEYED[name]()
    assert first.method == "POST"
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_a_key_that_is_given_is_used() -> None:
    assert wire.reward("home", CLAIM, "mine").headers["Idempotency-Key"] == "mine"


def test_a_question_always_has_an_id() -> None:
    assert question({"a": None}, None)["decision_id"] != question({"a": None}, None)["decision_id"]
    assert question({"a": None}, None, "mine")["decision_id"] == "mine"
    given = questions([{"actions": ["a"]}, {"actions": ["a"]}, {"actions": ["a"], "decision_id": "mine"}])
    assert len({one["decision_id"] for one in given}) == 3
    assert given[2]["decision_id"] == "mine"


def test_a_context_of_none_is_not_sent() -> None:
    (asked,) = questions([{"actions": ["a"], "context": None, "decision_id": "mine", "top": 1}])
    assert asked == {"actions": [{"id": "a"}], "decision_id": "mine", "top": 1}


def test_a_question_cannot_be_named_like_a_fallback() -> None:
    """Its rewards would be ignored."""
    with pytest.raises(ValueError, match="fallback-"):
        question(["a"], None, "fallback-7")
    with pytest.raises(ValueError, match="fallback-"):
        questions([{"actions": ["a"], "decision_id": "fallback-7"}])


def test_only_what_was_said_is_sent() -> None:
    assert question(["a"], None, "d") == {"decision_id": "d", "actions": [{"id": "a"}]}
    assert question(["a"], [1.0], "d", 2, "chosen").keys() == {"decision_id", "actions", "context", "top", "ranking"}
    assert claim("d", 1.0, None, None) == CLAIM
    assert claim("d", 1.0, "a", "app") == {**CLAIM, "action_id": "a", "source": "app"}


def test_a_batch_written_piece_by_piece_is_the_batch() -> None:
    content = wire.reward_many("home", [CLAIM, {**CLAIM, "source": "é"}]).content
    assert content is not None
    assert json.loads(content) == {"rewards": [CLAIM, {**CLAIM, "source": "é"}]}


@pytest.mark.parametrize(("name", "path"), [("a/b", "a%2Fb"), ("ü ?#", "%C3%BC%20%3F%23"), ("a..b", "a..b")])
def test_a_name_cannot_become_another_address(name: str, path: str) -> None:
    assert wire.get_learner(name).path == f"/v1/learners/{path}"
    assert wire.decision("home", name).path == f"/v1/learners/home/decisions/{path}"


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="address"):
        wire.delete_learner(name)


@pytest.mark.parametrize("arguments", [(None, None), ("bot", ["d1"])])
def test_a_retraction_is_of_a_source_or_of_decisions(arguments: Any) -> None:
    with pytest.raises(ValueError, match="either"):
        wire.retract("home", *arguments)
    assert wire.retract("home", None, ["d1"]).content == b'{"decision_ids":["d1"]}'


@pytest.mark.parametrize(("value", "name"), [(float("nan"), "nan"), (float("-inf"), "-inf")])
def test_a_number_that_json_does_not_have_is_refused_here_with_its_place(value: float, name: str) -> None:
    with pytest.raises(Unsendable, match=rf"JSON: /actions/1/features/0 is {name}, and"):
        encode({"actions": [{"id": "a"}, {"id": "b", "features": [value]}]})


def test_a_text_that_is_no_unicode_is_refused_here() -> None:
    with pytest.raises(Unsendable, match="surrogates"):
        encode({"context": "\ud800"})


def test_what_is_no_json_is_refused_with_its_type() -> None:
    with pytest.raises(TypeError, match="a set cannot be sent"):
        encode({"context": {1.0}})


def test_one_text_is_not_a_list_of_actions() -> None:
    with pytest.raises(TypeError, match="list of ids"):
        listed("abc")


def test_a_reward_of_many_that_cannot_be_written_is_told_by_its_place() -> None:
    with pytest.raises(Unsendable, match="JSON: /rewards/1/value is nan, and"):
        wire.reward_many("home", [CLAIM, {"decision_id": "e", "value": float("nan")}])
