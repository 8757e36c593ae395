"""Requests about sessions that nobody sends by accident."""

from collections.abc import Iterator

from tests.acceptance.hostile import GOOD, HOME, LEARNERS, A, Hostile, dumped, nested

SESSIONS = f"{LEARNERS}/sessions"
EPISODES = f"{SESSIONS}/episodes"
PATHS = {verb: f"{EPISODES}/e/{verb}s" for verb in ("step", "reward")} | {
    "begin": EPISODES,
    "finish": f"{EPISODES}/e/finish",
}
STEP = {"state": [0.1, 0.2], "actions": [A]}


def everything() -> Iterator[Hostile]:
    yield from _shapes()
    yield from _numbers()
    yield from _names()


def _shapes() -> Iterator[Hostile]:
    for verb, path in PATHS.items():
        for text in (b" ", b"null", b"[]", b"1", b"{}{}", b'{"secret-word": 1}', b"\x00", b"\xff\xfe", nested(9)):
            yield Hostile(f"{verb}: {text[:20]!r}", path, text, 422)
        yield Hostile(f"9 MB to {verb}", path, b" " * 9_000_000 + b"{}", 413)
        yield Hostile(f"{verb} twice", path, b'{"state": 1, "state": 1, "step": 1, "step": 1}', 422)
    for actions in (None, [], {}, [A, A], [{"id": ""}], [{"id": 1}], [A | {"secret-word": 1}]):
        yield Hostile(f"a step with actions {actions}", PATHS["step"], dumped(STEP | {"actions": actions}), 422)


def _numbers() -> Iterator[Hostile]:
    step = b'{"state": [0, 0], "actions": [{"id": "a", "features": [1]}], "%b": %b}'
    for word in ("NaN", "Infinity", "1e400", "1" * 5000, "true", '"1"', "[]"):
        short, text = word[:9], word.encode()
        state = b'{"state": [%b, 0], "actions": [{"id": "a", "features": [1]}]}' % text
        yield Hostile(f"a state of {short}", PATHS["step"], state, 422)
        yield Hostile(f"a step's reward of {short}", PATHS["step"], step % (b"reward", text), 422)
        yield Hostile(f"a step number of {short}", PATHS["step"], step % (b"step", text), 422)
        yield Hostile(f"a reward of {short}", PATHS["reward"], b'{"step": 1, "value": %b}' % text, 422)
        yield Hostile(f"a rewarded step of {short}", PATHS["reward"], b'{"step": %b, "value": 1}' % text, 422)
    for number in (0, -1, 1_001, 2**70):
        yield Hostile(f"step {number}", PATHS["step"], dumped(STEP | {"step": number}), 422)
        yield Hostile(f"a reward for step {number}", PATHS["reward"], dumped({"step": number, "value": 0.1}), 422)


def _names() -> Iterator[Hostile]:
    for name, text in {"empty": "", "too long": "x" * 257, "with a NUL": "a\0b", "a lone surrogate": "\ud800"}.items():
        yield Hostile(f"an episode's id {name}", EPISODES, dumped({"episode_id": text}), 422)
    for name in ("never", "%00", "a%00b", "x" * 300, "%ff", "%2F", "a%2Fb", "..%2F..", "{episode_id}"):
        yield Hostile(f"a step of {name[:9]}", f"{EPISODES}/{name}/steps", dumped(STEP), 404)
        yield Hostile(f"a finish of {name[:9]}", f"{EPISODES}/{name}/finish", b"{}", 404)
        yield Hostile(f"a look at {name[:9]}", f"{EPISODES}/{name}", b"", 404, "GET")
    yield Hostile("an episode of a bandit", f"{HOME}/episodes", b"{}", 409)
    yield Hostile("a decision of sessions", f"{SESSIONS}/decisions", dumped(GOOD), 409)
