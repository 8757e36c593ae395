"""A batch that is read at a glance asks what it would ask if it were read the ordinary way; or it is not read so."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.api.asking import each_with_actions, questions
from holdfast.api.bodies import decode
from holdfast.api.schemas import DecisionsBody
from holdfast.api.vectors import glance
from holdfast.errors import InvalidInput
from holdfast.features import Dense, Encoder, Hashed
from holdfast.hosting.decide import Questions

ENCODERS = {
    "concat": Dense(context=2, action=1),
    "outer": Dense(context=2, action=1, joint="outer"),
    "unit": Dense(context=2, action=1, normalise="unit"),
    "none": Dense(context=2, action=1, normalise="none"),
    "action": Dense(action=1, joint="action"),
}
_decoder = msgspec.json.Decoder(DecisionsBody)


def ordinarily(body: bytes, encoder: Encoder) -> Questions | None:
    try:
        read = decode(_decoder, body)
        return questions(encoder, each_with_actions(read), read.actions)
    except InvalidInput:
        return None


def at_a_glance(body: bytes, encoder: Encoder) -> Questions | None:
    glanced = glance(body, encoder)
    return None if glanced is None else glanced.questions()


def told(asked: Questions) -> list[Any]:
    """All of it but the ids of our own, which are new each time."""
    names = [name if digest else len(name) for name, digest in zip(asked.decision_ids, asked.digests, strict=True)]
    return [names, asked.ids, asked.phi.shape, asked.phi.tobytes(), asked.tops, asked.digests, asked.place]


def batch(*decisions: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps({"decisions": [{**one, **changes} for one in decisions]}, ensure_ascii=False).encode()


def plain(actions: int = 2, context: bool = True) -> dict[str, Any]:
    listed = [{"id": f"a:{i}", "features": [0.3 - i]} for i in range(actions)]
    return {"context": [0.1, -2], "actions": listed} if context else {"actions": listed}


numbers = st.one_of(st.floats(-1.0, 1.0), st.integers(-3, 3), st.floats(-1e13, 1e13))
ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)


@st.composite
def decisions(draw: st.DrawFn, context: bool) -> dict[str, Any]:
    """Mostly in order, and now and then not."""
    names = draw(st.lists(ids, min_size=1, max_size=4))
    actions = [{"id": name, "features": draw(st.lists(numbers, min_size=1, max_size=1))} for name in names]
    vector = draw(st.lists(numbers, min_size=2, max_size=2))
    said = {"actions": actions, "context": vector, "decision_id": draw(ids), "top": draw(st.integers(1, 3))}
    said["ranking"] = draw(st.sampled_from(["complete", "chosen"]))
    kept = draw(st.sets(st.sampled_from(["decision_id", "top", "ranking"])))
    order = draw(st.permutations(["actions", "context"] if context else ["actions"]))
    return {name: said[name] for name in [*order, *sorted(kept)]}


@pytest.mark.parametrize("kind", ENCODERS)
@given(data=st.data())
def test_what_is_read_at_a_glance_is_what_the_ordinary_way_reads(kind: str, data: st.DataObject) -> None:
    encoder = ENCODERS[kind]
    batch = {"decisions": data.draw(st.lists(decisions(encoder.context > 0), min_size=1, max_size=4))}
    if data.draw(st.booleans()):
        batch["actions"] = batch["decisions"][0]["actions"]
        for one in batch["decisions"]:
            del one["actions"]
    body = json.dumps(batch, ensure_ascii=data.draw(st.booleans())).encode()
    asked, usual = at_a_glance(body, encoder), ordinarily(body, encoder)
    if asked is None:
        assert usual is None or b"\\" in body
    else:
        assert usual is not None
        assert told(asked) == told(usual)


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_ordinary_batch_is_read_at_a_glance(kind: str) -> None:
    context = ENCODERS[kind].context > 0
    scale = {"context": [0.1, -0.2]} if context else {}
    body = batch(plain(2, context), plain(3, context), **scale)
    if kind == "none":
        body = body.replace(b"-0.7", b"-0.5").replace(b"-1.7", b"-0.4")
    assert at_a_glance(body, ENCODERS[kind]) is not None


def test_actions_that_are_said_once_are_those_of_every_decision() -> None:
    actions = plain(3)["actions"]
    shared = json.dumps({"decisions": [{"context": [0.1, i]} for i in range(4)], "actions": actions}).encode()
    asked = at_a_glance(shared, ENCODERS["concat"])
    spelled = at_a_glance(batch(*({"context": [0.1, i], "actions": actions} for i in range(4))), ENCODERS["concat"])
    assert asked is not None
    assert spelled is not None
    assert told(asked) == told(spelled)


def test_decisions_with_the_same_ids_one_after_the_other_share_them_and_keep_their_own_features() -> None:
    named = [["a", "b"], ["a", "b"], ["b", "a"], ["a"], ["a"], ["a", "b"]]
    asked = [
        {"context": [n, 1], "actions": [{"id": name, "features": [n]} for name in some]} for n, some in enumerate(named)
    ]
    read, usual = at_a_glance(batch(*asked), ENCODERS["concat"]), ordinarily(batch(*asked), ENCODERS["concat"])
    assert read is not None
    assert usual is not None
    assert told(read) == told(usual)
    assert [later is before for before, later in pairwise(read.ids)] == [True, False, False, True, False]


ODD = {
    "an escape": batch(plain(), decision_id="a").replace(b'"a"', b'"\\u0061"'),
    "a name twice": batch(plain()).replace(b'"context"', b'"context": [0, 0], "context"'),
    "an action's name twice": batch(plain()).replace(b'"id"', b'"id": "z", "id"', 1),
    "a list inside": batch(plain(), context=[[0.1, 0.2], []]),
    "a list inside beside a mere number": batch(
        plain(), actions=[{"id": "a", "features": 1}, {"id": "b", "features": [[1]]}]
    ),
    "an object": batch(plain(), context={"a": 1}),
    "no context": batch(plain(context=False)),
    "a null context": batch(plain(), context=None),
    "a wrong length": batch(plain(), context=[1.0]),
    "lengths that make up for each other": batch(plain() | {"context": [1.0]}, plain() | {"context": [1.0, 2.0, 3.0]}),
    "a boolean": batch(plain(), context=[True, 0.0]),
    "a number too large": batch(plain(), context=[1e13, 0.0]),
    "no features": batch(plain(), actions=[{"id": "a"}]),
    "the same id twice": batch(plain(), actions=plain()["actions"][:1] * 2),
    "the same id twice in one of several": batch(plain(), plain() | {"actions": plain()["actions"][:1] * 2}, plain()),
    "an empty id": batch(plain(), actions=[{"id": "", "features": [1.0]}]),
    "a long id": batch(plain(), actions=[{"id": "a" * 257, "features": [1.0]}]),
    "no actions": batch(plain(), actions=[]),
    "too many shown": batch(plain(), top=3),
    "an unknown name": batch(plain(), extra=1),
    "a wrong ranking": batch(plain(), ranking="none"),
    "a NUL in the decision's id": batch(plain(), decision_id="a\0"),
    "actions of nobody": json.dumps({"decisions": [{"context": [0, 0]}]}).encode(),
    "actions twice": batch(plain()).replace(b'"decisions"', b'"actions": [], "actions": [], "decisions"'),
    "shared actions of the wrong length": json.dumps(
        {"decisions": [{"context": [0, 0]}], "actions": [{"id": "a", "features": [1.0, 2.0]}]}
    ).encode(),
    "no decisions": b'{"decisions": []}',
    "nothing": b"",
    "not JSON": b'{"decisions": [',
    "not UTF-8": batch(plain(), decision_id="a").replace(b'"a"', b'"\xff"'),
    "a surrogate": batch(plain(), decision_id="a").replace(b'"a"', b'"\xed\xa0\x80"'),
    "something behind it": batch(plain()) + b" {}",
    "actions for some": json.dumps(
        {"decisions": [plain(), {"context": [0, 0]}], "actions": plain(3)["actions"]}
    ).encode(),
    "actions that nobody needs": json.dumps({"decisions": [plain()], "actions": plain(3)["actions"]}).encode(),
}
FINE = ("an escape", "actions for some", "actions that nobody needs")


@pytest.mark.parametrize("odd", ODD)
def test_whatever_is_odd_is_left_to_the_ordinary_way(odd: str) -> None:
    assert at_a_glance(ODD[odd], ENCODERS["concat"]) is None
    assert (ordinarily(ODD[odd], ENCODERS["concat"]) is None) == (odd not in FINE)


def test_only_plain_vectors_are_read_at_a_glance() -> None:
    hashed, disjoint = Hashed(dimension=16), Dense(context=2, joint="disjoint", actions=("a:0", "a:1"))
    assert glance(batch(plain()), hashed) is None
    assert glance(batch(plain()), disjoint) is None
