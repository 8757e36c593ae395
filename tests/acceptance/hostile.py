"""Requests nobody sends by accident. Each is refused, with the status that the list says."""

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

LEARNERS = "/v1/learners"
HOME = f"{LEARNERS}/home"
DECIDE, DECIDE_MANY = f"{HOME}/decisions", f"{HOME}/decisions/batch"
REWARD, REWARD_MANY = f"{HOME}/rewards", f"{HOME}/rewards/batch"

A = {"id": "a", "features": [0.3]}
GOOD = {"context": [0.1, 0.2], "actions": [A]}
LEARNER = {"name": "x", "kind": "bandit", "features": {"kind": "dense", "context": 2, "action": 1}}
BODY_MAX = 8 * 1024 * 1024


class Hostile(NamedTuple):
    """A request, and the one status it may have (0: any 4xx)."""

    name: str
    path: str
    body: bytes = b""
    status: int = 0
    method: str = "POST"
    headers: dict[str, str] = {}  # noqa: RUF012  # never written to


def dumped(document: Any) -> bytes:
    return json.dumps(document).encode()


def nested(depth: int, kind: str = "list") -> bytes:
    opened, closed = (b"[", b"]") if kind == "list" else (b'{"a":', b"}")
    return opened * depth + b"1" + closed * depth


def context(value: bytes) -> bytes:
    """A decision with this text as its context."""
    return b'{"context": ' + value + b', "actions": [{"id": "a", "features": [0.3]}]}'


def feature(value: bytes) -> bytes:
    return b'{"context": [0.1, 0.2], "actions": [{"id": "a", "features": ' + value + b"}]}"


def everything() -> Iterator[Hostile]:
    yield from _numbers()
    yield from _texts()
    yield from _shapes()
    yield from _fields()
    yield from _sizes()
    yield from _encodings()
    yield from _rewards()
    yield from _learners()
    yield from _changes()
    yield from _addresses()
    yield from _methods()


def _numbers() -> Iterator[Hostile]:
    for text in ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e13", "1" + "0" * 400, "1" * 5000, "0x10", "01"):
        short = text[:9]
        yield Hostile(f"context of {short}", DECIDE, context(f"[{text}, 0.2]".encode()), 422)
        yield Hostile(
            f"hashed feature of {short}", f"{LEARNERS}/json/decisions", context(b'{"x": %b}' % text.encode()), 422
        )
        yield Hostile(f"reward of {short}", REWARD, b'{"decision_id": "d", "value": %b}' % text.encode())
        yield Hostile(f"top of {short}", DECIDE, b'{"top": %b, "actions": [{"id": "a"}]}' % text.encode(), 422)
    for value in (True, "1", None, [], {}, [[0.1], [0.2]]):
        yield Hostile(f"{value} as a number", DECIDE, dumped(GOOD | {"context": [value, 0.2]}), 422)
        yield Hostile(f"{value} as a reward", REWARD, dumped({"decision_id": "d", "value": value}), 422)
    yield Hostile("true as top", DECIDE, dumped(GOOD | {"top": True}), 422)
    yield Hostile("top below one", DECIDE, dumped(GOOD | {"top": -1}), 422)
    yield Hostile("top beyond the actions", DECIDE, dumped(GOOD | {"top": 2}), 422)


def _texts() -> Iterator[Hostile]:
    lone = b'"\\ud800"'
    yield Hostile(
        "a lone surrogate as a decision's id", DECIDE, b'{"decision_id": %b, "actions": [{"id": "a"}]}' % lone, 422
    )
    yield Hostile("a lone surrogate as an action's id", DECIDE, b'{"actions": [{"id": %b}]}' % lone, 422)
    yield Hostile("a lone surrogate in the context", f"{LEARNERS}/json/decisions", context(b'{"x": %b}' % lone), 422)
    yield Hostile("a lone surrogate as a name", f"{LEARNERS}/json/decisions", context(b"{%b: 1}" % lone), 422)
    yield Hostile("a lone surrogate as a source", REWARD, b'{"decision_id": "d", "value": 1, "source": %b}' % lone, 422)
    yield Hostile("a lone surrogate as a learner's name", LEARNERS, dumped(LEARNER | {"name": "\ud800"}), 422)
    function = {"kind": "linear", "\ud800": "\udfff"}
    yield Hostile("a lone surrogate in a function", LEARNERS, dumped(LEARNER | {"function": function}), 422)
    features = LEARNER["features"] | {"joint": "disjoint", "action": 0, "actions": ["\ud800"]}
    yield Hostile("a lone surrogate among the actions", LEARNERS, dumped(LEARNER | {"features": features}), 422)
    for name, text in {"empty": "", "too long": "x" * 257, "with a NUL": "a\0b"}.items():
        yield Hostile(f"a decision's id {name}", DECIDE, dumped(GOOD | {"decision_id": text}), 422)
        yield Hostile(f"a rewarded decision's id {name}", REWARD, dumped({"decision_id": text, "value": 1}), 422)
        yield Hostile(f"a learner's name {name}", LEARNERS, dumped(LEARNER | {"name": text}), 422)
    for name, text in {"empty": "", "too long": "x" * 257}.items():
        yield Hostile(f"an action's id {name}", DECIDE, dumped(GOOD | {"actions": [A | {"id": text}]}), 422)
    source = {"decision_id": "d", "value": 1, "source": "a\0b"}
    yield Hostile("a source with a NUL", REWARD, dumped(source), 422)
    yield Hostile("a huge source", REWARD, dumped(source | {"source": "x" * 10**6}), 422)
    yield Hostile(
        "a huge rewarded action", REWARD, dumped({"decision_id": "d", "value": 1, "action_id": "x" * 10**6}), 422
    )


def _shapes() -> Iterator[Hostile]:
    for path in (DECIDE, DECIDE_MANY, REWARD, REWARD_MANY, LEARNERS):
        last = path.rsplit("/", 2)[-2:]
        for text in (
            b"",
            b" ",
            b"{",
            b"null",
            b"[]",
            b"1",
            b'"x"',
            b"{}",
            b"{}{}",
            b"{'a': 1}",
            b'{"a": 1,}',
            b"\x00",
            b"[" * 9,
        ):
            yield Hostile(f"{'/'.join(last)}: {text!r}", path, text, 422)
        for depth in (9, 1_000, 100_000):
            yield Hostile(f"{'/'.join(last)}: {depth} lists", path, nested(depth), 422)
            yield Hostile(f"{'/'.join(last)}: {depth} objects", path, nested(depth, "object"), 422)
    for depth in (9, 1_000, 100_000):
        yield Hostile(f"a context {depth} deep", DECIDE, context(nested(depth)), 422)
        yield Hostile(
            f"hashed features {depth} deep", f"{LEARNERS}/json/decisions", context(nested(depth, "object")), 422
        )
        ignored = b'{"_ignored": %b}' % nested(depth)
        yield Hostile(f"ignored features {depth} deep", f"{LEARNERS}/json/decisions", context(ignored), 422)


def _fields() -> Iterator[Hostile]:
    for name, value in {"null": None, "text": "x", "number": 1, "flag": False, "object": {}, "list": [1]}.items():
        yield Hostile(f"actions a {name}", DECIDE, dumped(GOOD | {"actions": value}), 422)
        yield Hostile(f"an action a {name}", DECIDE, dumped(GOOD | {"actions": [value]}), 422)
        yield Hostile(
            f"an action's id a {name}",
            DECIDE,
            dumped(GOOD | {"actions": [{"id": None if name == "text" else value}]}),
            422,
        )
        yield Hostile(f"decisions a {name}", DECIDE_MANY, dumped({"decisions": value}), 422)
        if name != "list":  # of which each item is answered by itself
            yield Hostile(f"rewards a {name}", REWARD_MANY, dumped({"rewards": value}), 422)
    for length in (0, 1, 3, 5_000):
        yield Hostile(f"a context of {length}", DECIDE, dumped(GOOD | {"context": [0.1] * length}), 422)
        yield Hostile(
            f"features of {length + 1 if length == 1 else length}",
            DECIDE,
            feature(dumped([0.1] * (2 if length == 1 else length))),
            422,
        )
    yield Hostile("no actions", DECIDE, dumped(GOOD | {"actions": []}), 422)
    yield Hostile("equal actions", DECIDE, dumped(GOOD | {"actions": [A, A]}), 422)
    yield Hostile("an unknown field", DECIDE, dumped(GOOD | {"secret-word": 1}), 422)
    yield Hostile("an unknown field of an action", DECIDE, dumped(GOOD | {"actions": [A | {"secret-word": 1}]}), 422)
    yield Hostile("an unknown ranking", DECIDE, dumped(GOOD | {"ranking": "secret-word"}), 422)
    yield Hostile(
        "a name twice",
        DECIDE,
        b'{"top": 1, "top": 1, "actions": [{"id": "a", "features": [1]}], "context": [0, 0]}',
        422,
    )
    yield Hostile(
        "a name twice in an action",
        DECIDE,
        b'{"context": [0, 0], "actions": [{"id": "a", "id": "b", "features": [1]}]}',
        422,
    )
    yield Hostile("a name twice in features", f"{LEARNERS}/json/decisions", context(b'{"x": 1, "x": 2}'), 422)
    yield Hostile("a name twice in a learner", LEARNERS, dumped(LEARNER)[:-1] + b', "name": "y"}', 422)
    yield Hostile(
        "a name twice in a learner's features",
        LEARNERS,
        dumped(LEARNER).replace(b'"dense"', b'"dense", "action": 2'),
        422,
    )


def _sizes() -> Iterator[Hostile]:
    million = b",".join([b'{"id":1}'] * 900_000)
    yield Hostile("900,000 actions", DECIDE, b'{"actions":[%b]}' % million)
    yield Hostile("10^6 actions", DECIDE, b'{"actions":[%b]}' % b",".join([b'{"id":"a"}'] * 10**6), 413)
    yield Hostile("700,000 good actions", DECIDE, b'{"actions":[%b]}' % b",".join([b'{"id":"a"}'] * 700_000), 422)
    yield Hostile("10^6 keys", DECIDE, b"{%b}" % b",".join(b'"%x":1' % i for i in range(700_000)), 422)
    hashed = f"{LEARNERS}/json/decisions"
    yield Hostile(
        "10^6 keys too large", hashed, context(b"{%b}" % b",".join(b'"%06d":1' % i for i in range(10**6))), 413
    )
    yield Hostile("700,000 features", hashed, context(b"{%b}" % b",".join(b'"%x":1' % i for i in range(700_000))), 422)
    yield Hostile("2,500,000 texts", hashed, context(b'{"x":[%b""]}' % (b'"",' * 2_500_000)), 422)
    yield Hostile("2,500,000 lists", hashed, context(b'{"x":[%b1]}' % (b"[]," * 2_500_000)), 422)
    yield Hostile("4,000,000 numbers", DECIDE, context(b"[%b1]" % (b"1," * 4_000_000)), 422)
    yield Hostile("2,000,000 fractions", DECIDE, context(b"[%b1]" % (b".5,".replace(b".", b"0.") * 2_000_000)), 422)
    yield Hostile(
        "just not too many names", hashed, context(b"{%b}" % b",".join(b'"%x":1' % i for i in range(199_990))), 422
    )
    yield Hostile("just not too many lists", hashed, context(b'{"x":[%b1]}' % (b"[]," * 149_990)), 422)
    yield Hostile("just not too many objects", hashed, context(b'{"x":[%b1]}' % (b'{"a":1},' * 149_990)), 422)
    yield Hostile("just not too many fractions", DECIDE, context(b"[%b1]" % (b"0.512," * 1_390_000)), 422)
    yield Hostile("just not too many texts", hashed, context(b'{"x":[%b""]}' % (b'"abc",' * 1_390_000)), 422)
    yield Hostile("a text of 8 MB", hashed, context(b'{"x": "%b"}' % (b"x" * 8_000_000)), 422)
    yield Hostile("10^6 keys of a learner", LEARNERS, b"{%b}" % b",".join(b'"%x":1' % i for i in range(700_000)), 422)
    function = b'{"kind": "finite", "candidates": [%b[1,1,1]]}' % (b"[0,0,0]," * 100_000)
    yield Hostile("100,000 candidate functions", LEARNERS, dumped(LEARNER)[:-1] + b', "function": %b}' % function, 422)
    batch = b",".join([b'{"decision_id":"d","value":1}'] * 1_001)
    yield Hostile("1,001 rewards", REWARD_MANY, b'{"rewards": [%b]}' % batch, 422)
    yield Hostile("1,001 decisions", DECIDE_MANY, b'{"decisions": [%b]}' % b",".join([dumped(GOOD)] * 1_001), 422)
    for path in (DECIDE, DECIDE_MANY, REWARD, REWARD_MANY, LEARNERS):
        yield Hostile(f"9 MB to {path}", path, b" " * 9_000_000 + b"{}", 413)
    yield Hostile("9 MB to a change", HOME, b" " * 9_000_000 + b"{}", 413, "PATCH")
    yield Hostile("8 MB of nothing", DECIDE, b" " * BODY_MAX, 422)


def _encodings() -> Iterator[Hostile]:
    bomb = gzip.compress(b" " * 50_000_000)
    for path in (DECIDE, REWARD, LEARNERS):
        yield Hostile(f"gzip bomb to {path}", path, bomb, 422, headers={"content-encoding": "gzip"})
        yield Hostile(f"gzip without saying so to {path}", path, bomb, 422)
        yield Hostile(f"not UTF-8 to {path}", path, b'{"decision_id": "\xff\xfe"}', 422)
        yield Hostile(f"UTF-16 to {path}", path, json.dumps(GOOD).encode("utf-16"), 422)
        yield Hostile(f"overlong UTF-8 to {path}", path, b'{"decision_id": "\xc0\x80"}', 422)
        yield Hostile(f"a surrogate in UTF-8 to {path}", path, b'{"decision_id": "\xed\xa0\x80"}', 422)
        yield Hostile(f"a byte order mark to {path}", path, b"\xef\xbb\xbf" + dumped(GOOD), 422)
    form = {"content-type": "application/x-www-form-urlencoded"}
    yield Hostile("a form", LEARNERS, b"name=x&kind=bandit", 422, headers=form)
    yield Hostile(
        "a multipart form",
        LEARNERS,
        b"--x\r\n\r\n--x--",
        422,
        headers={"content-type": "multipart/form-data; boundary=x"},
    )


def _rewards() -> Iterator[Hostile]:
    yield Hostile("a reward for nothing", REWARD, dumped({"decision_id": "never", "value": 1}), 404)
    yield Hostile(
        "a reward of an unknown learner", f"{LEARNERS}/never/rewards", dumped({"decision_id": "d", "value": 1}), 404
    )
    yield Hostile("a reward out of range", REWARD, dumped({"decision_id": "known", "value": 2}), 422)
    yield Hostile("a reward beyond all numbers", REWARD, dumped({"decision_id": "known", "value": 1e13}), 422)
    yield Hostile(
        "a reward for what was not shown", REWARD, dumped({"decision_id": "known", "value": 1, "action_id": "z"}), 422
    )
    yield Hostile(
        "an unknown field of a reward", REWARD, dumped({"decision_id": "known", "value": 1, "secret-word": 1}), 422
    )
    yield Hostile("a reward of nulls", REWARD, dumped({"decision_id": None, "value": None}), 422)


def _learners() -> Iterator[Hostile]:
    for name, value in {
        "horizon": 1e308, "confidence": -1, "seed": -1, "noise": "loud", "radius": "secret-word", "exploration": 2,
        "features": {"kind": "secret-word"}, "function": {"kind": "secret-word"},
        "kind": "mdp", "reward": {"min": 1, "max": 0},
        "corruption": {"budget": -1}, "secret-word": 1,
    }.items():  # fmt: skip
        yield Hostile(f"a learner with an absurd {name}", LEARNERS, dumped(LEARNER | {name: value}), 422)
        for other in (None, [], "x", True):
            if (name, other) != ("exploration", None):
                yield Hostile(f"a learner whose {name} is {other}", LEARNERS, dumped(LEARNER | {name: other}), 422)
    for text in ("NaN", "Infinity", "1e400", "1e13", "1" * 5000, "-0.1", '"1"', "true", "[]"):
        body = dumped(LEARNER)[:-1] + b', "corruption": {"budget": %b}}' % text.encode()
        yield Hostile(f"a budget of {text[:9]}", LEARNERS, body, 422)
        for field in (b"horizon", b"seed"):
            body = dumped(LEARNER)[:-1] + b', "%b": %b}' % (field, text.replace("1e13", "9" * 400).encode())
            yield Hostile(f"a {field.decode()} of {text[:9]}", LEARNERS, body, 422)
    for features in (
        {"context": 10**9, "action": 1}, {"context": 10**400}, {"context": -1},
        {"context": 2048, "action": 2048, "joint": "outer"},
        {"context": 1, "joint": "cell", "actions": ["a"], "states": 10**12}, {"joint": "disjoint", "actions": []},
        {"joint": "disjoint", "actions": ["a", "a"]}, {"joint": "disjoint", "actions": [1]},
        {"context": 0, "action": 0},
        {"context": True}, {"context": 2.0}, {"actions": None}, {"joint": None}, {"dimension": 5},
    ):  # fmt: skip
        body = dumped(LEARNER | {"features": {"kind": "dense"} | features})
        yield Hostile(f"features {str(features)[:60]}", LEARNERS, body, 422)
    for features in (
        {"dimension": 10**9},
        {"dimension": 0},
        {"interactions": [["a"]]},
        {"interactions": [["a", "b"]] * 2},
        {"interactions": 1},
    ):
        yield Hostile(f"hashed {features}", LEARNERS, dumped(LEARNER | {"features": {"kind": "json"} | features}), 422)
    tiny = {"radius": "theory", "function": {"kind": "linear", "norm": 1e-300}}
    yield Hostile("numbers too small together", LEARNERS, dumped(LEARNER | tiny), 422)
    wide = {"kind": "dense", "context": 2000}
    yield Hostile(
        "a quadratic of 2,000", LEARNERS, dumped(LEARNER | {"features": wide, "function": {"kind": "quadratic"}}), 422
    )
    for function in (
        {}, {"kind": None}, {"kind": []}, {"kind": "linear", "norm": 0}, {"kind": "linear", "norm": 10**400},
        {"kind": "linear", "dimension": 3},
        {"kind": "linear", "ridge": 1}, {"kind": "fourier", "frequencies": 10**9},
        {"kind": "kernel", "core_size": 10**9},
        {"kind": "kernel", "kernel": "secret-word"}, {"kind": "kernel", "length_scale": 0},
        {"kind": "kernel", "smoothness": {}},
        {"kind": "finite"}, {"kind": "finite", "candidates": []}, {"kind": "finite", "candidates": [[]]},
        {"kind": "finite", "candidates": {}},
        {"kind": "finite", "candidates": [[True, 0, 0]]}, {"kind": "finite", "candidates": [["1", 0, 0]]},
        {"kind": "tabular", "cells": 10**9},
    ):  # fmt: skip
        yield Hostile(f"function {str(function)[:60]}", LEARNERS, dumped(LEARNER | {"function": function}), 422)


def _changes() -> Iterator[Hostile]:
    for change in (
        {"paused": 1}, {"paused": "yes"}, {"mode": "secret-word"}, {"horizon": 5}, {"reward": {"wait_s": -1}},
        {"reward": {"wait_s": 1e400}},
        {"reward": {"default": 5}}, {"reward": {"max": 5}}, {"reward": []}, {"name": "y"}, [], None,
    ):  # fmt: skip
        yield Hostile(f"change {change}", HOME, dumped(change), 422, "PATCH")
    yield Hostile("change with NaN", HOME, b'{"reward": {"default": NaN}}', 422, "PATCH")
    yield Hostile("change twice", HOME, b'{"paused": false, "paused": false}', 422, "PATCH")
    yield Hostile("change of nobody", f"{LEARNERS}/never", b'{"paused": false}', 404, "PATCH")


def _addresses() -> Iterator[Hostile]:
    for name in (
        "never",
        "%00",
        "a%00b",
        "%2F",
        "%25",
        "%2e%2e",
        "%FF",
        "%ED%A0%80",
        "%F0%9F%98%80",
        "'%20OR%201=1--",
        "x" * 10_000,
    ):
        for tail in ("", "/diagnostics", "/state", "/log", "/decisions/d"):
            yield Hostile(f"GET {name[:20]}{tail}", f"{LEARNERS}/{name}{tail}", b"", 404, "GET")
        yield Hostile(f"decide for {name[:20]}", f"{LEARNERS}/{name}/decisions", dumped(GOOD), 404)
        yield Hostile(
            f"reward for {name[:20]}", f"{LEARNERS}/{name}/rewards", dumped({"decision_id": "d", "value": 1}), 404
        )
        yield Hostile(f"delete {name[:20]}", f"{LEARNERS}/{name}", b"", 404, "DELETE")
        yield Hostile(f"decision {name[:20]}", f"{HOME}/decisions/{name}", b"", 404, "GET")
    for query in (
        "limit=-1",
        "limit=0",
        "limit=1e3",
        "limit=9" + "9" * 400,
        "limit=501",
        "limit=",
        "limit=%00",
        "after=-1",
        "after=x",
        "after=" + "9" * 30,
        "after=NaN",
        "cursor=-1",
        "cursor=x",
        "cursor=%00",
        "cursor=%D9%A1",
        "cursor=" + "9" * 30,
    ):
        yield Hostile(f"log with {query[:20]}", f"{HOME}/log?{query}", b"", 422, "GET")
    for query in ("limit=-1", "limit=101", "limit=true", "cursor=%00", "cursor=" + "x" * 50_000):
        yield Hostile(f"list with {query[:20]}", f"{LEARNERS}?{query}", b"", 422, "GET")


def _methods() -> Iterator[Hostile]:
    for path in (
        "/v1",
        "/v1/",
        "/v1/nothing",
        f"{LEARNERS}/",
        f"{HOME}/nothing",
        "/v2/learners",
        "/v1/learners/home/nothing/a/b/c",
        f"{HOME}//log",
    ):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            yield Hostile(f"{method} {path}", path, b"", 404, method)
    for method, path in (
        ("PUT", LEARNERS), ("DELETE", LEARNERS), ("PATCH", LEARNERS), ("PUT", HOME), ("POST", HOME), ("GET", DECIDE),
        ("GET", REWARD),
        ("PUT", DECIDE), ("DELETE", REWARD_MANY), ("POST", f"{HOME}/log"), ("DELETE", f"{HOME}/state"),
        ("TRACE", LEARNERS), ("QUERY", LEARNERS),
    ):  # fmt: skip
        yield Hostile(f"{method} {path}", path, b"", 405, method)
