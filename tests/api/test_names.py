"""A body that says a name twice is never taken for one that does not, however it is written."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.api.bodies import decode
from holdfast.api.names import says_each_name_once
from holdfast.api.schemas import (
    DecisionBody,
    DecisionsBody,
    EpisodeBody,
    EventsBody,
    FinishBody,
    RewardBody,
    RewardsBody,
    StepBody,
    StepRewardBody,
)
from holdfast.errors import InvalidInput

texts = st.text(st.sampled_from('ab:"\\é{},'), min_size=1, max_size=6)
features = st.none() | st.lists(st.floats(-1, 1), max_size=3) | st.dictionaries(texts, texts | st.floats(-1, 1))
members = {
    "actions": st.lists(st.fixed_dictionaries({"id": texts}, optional={"features": features}), min_size=1, max_size=3),
    "context": features,
    "decision_id": texts,
    "top": st.integers(1, 2),
    "ranking": st.sampled_from(["complete", "chosen"]),
}
decisions = st.fixed_dictionaries(
    {"actions": members["actions"]}, optional={k: v for k, v in members.items() if k != "actions"}
)


def written(members: list[tuple[str, Any]], spacing: str) -> bytes:
    return ("{" + ", ".join(f"{json.dumps(k)}{spacing}:{json.dumps(v)}" for k, v in members) + "}").encode()


@given(decisions, st.sampled_from(["", " "]))
def test_a_body_without_repetition_is_accepted(body: dict[str, Any], spacing: str) -> None:
    assert decode(msgspec.json.Decoder(DecisionBody), written(list(body.items()), spacing)).actions


@given(decisions, st.data())
def test_a_repeated_name_is_refused_wherever_it_stands(body: dict[str, Any], data: st.DataObject) -> None:
    repeated = data.draw(st.sampled_from(sorted(body)))
    said = [(repeated, data.draw(members[repeated])), *body.items()]
    raw = written(data.draw(st.permutations(said)), data.draw(st.sampled_from(["", " "])))
    decoded = msgspec.json.decode(raw, type=DecisionBody)
    assert not says_each_name_once(raw, decoded)
    with pytest.raises(InvalidInput, match="twice"):
        decode(msgspec.json.Decoder(DecisionBody), raw)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ('{"actions": [{"id": "x:y", "id": "z"}]}', DecisionBody),
        ('{"actions": [{"id": "a", "features": {"k": 1, "k": 2}}]}', DecisionBody),
        ('{"actions": [{"id": "a"}], "context": {"n": {"k": ":", "k": 1}}}', DecisionBody),
        ('{"decisions": [{"actions": [{"id": "a"}], "actions": [{"id": "b"}]}]}', DecisionsBody),
        ('{"decision_id": "a", "value": 0.5, "value": 0.6}', RewardBody),
        (r'{"decision_id": "\u003a", "value": 0.5, "value": 0.6}', RewardBody),
        (
            '{"rewards": [{"decision_id": "a", "value": 1}], "rewards": [{"decision_id": "b", "value": 1}]}',
            RewardsBody,
        ),
        ('{"events": [{"actions": [{"id": "a"}], "action_id": "a", "value": 1, "value": 0}]}', EventsBody),
        ('{"episode_id": "a", "episode_id": "b"}', EpisodeBody),
        ('{"actions": [{"id": "a"}], "state": {"k": 1, "k": 2}}', StepBody),
        ('{"actions": [{"id": "a"}], "step": 1, "reward": 0.1, "reward": 0.2}', StepBody),
        ('{"step": 1, "value": 0.5, "value": 0.6}', StepRewardBody),
        ('{"state": [1], "state": [2]}', FinishBody),
        ('{"actions": [{"id": "a", "id": "b"}]}', FinishBody),
    ],
)
def test_every_kind_of_body_is_looked_through(raw: str, kind: Any) -> None:
    with pytest.raises(InvalidInput, match="twice"):
        decode(msgspec.json.Decoder(kind), raw.encode())


def test_a_plain_body_is_told_at_a_glance() -> None:
    bodies = [
        ({"actions": [{"id": "a:b", "features": [0.1]}], "context": [0.2], "decision_id": "d"}, DecisionBody),
        ({"actions": [{"id": "a", "features": {"k:": "v", "n": {"m": 1}}}], "top": 2}, DecisionBody),
        ({"decision_id": "a", "value": 0.5, "source": "http://x"}, RewardBody),
        ({"events": [{"actions": [{"id": "a"}], "action_id": "a", "value": 1, "probability": 0.5}]}, EventsBody),
        ({"episode_id": "a:b"}, EpisodeBody),
        (
            {
                "actions": [{"id": "a"}],
                "state": {"k": ":"},
                "reward": 0.1,
                "step": 2,
                "source": "x:",
                "ranking": "chosen",
            },
            StepBody,
        ),
        ({"step": 1, "value": 0.5, "source": "http://x"}, StepRewardBody),
        ({"state": {"k": 1}, "actions": [{"id": "a", "features": [0.1]}]}, FinishBody),
        ({}, FinishBody),
    ]
    for body, kind in bodies:
        raw = json.dumps(body).encode()
        assert says_each_name_once(raw, msgspec.json.decode(raw, type=kind)), body


@pytest.mark.parametrize("depth", [9, 100, *range(980, 1000), 10_000])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
def test_what_an_encoder_would_ignore_is_not_nested_too_deep_either(depth: int, opened: str, closed: str) -> None:
    raw = f'{{"actions": [{{"id": "a"}}], "context": {{"_ignored": {opened * depth}1{closed * depth}}}}}'
    with pytest.raises(InvalidInput, match="nested deeper"):
        decode(msgspec.json.Decoder(DecisionBody), raw.encode())
