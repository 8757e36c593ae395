"""Short batches that ask for very much, by sharing their actions."""

from collections.abc import Iterator
from typing import Any

from tests.acceptance.hostile import DECIDE_MANY, LEARNERS, Hostile, dumped

HASHED_MANY = f"{LEARNERS}/json/decisions/batch"
EVERYBODY = [{"context": [0.1, 0.2]}] * 1_000


def everything() -> Iterator[Hostile]:
    yield _shared("10,000 actions", DECIDE_MANY, [{"id": str(i), "features": [0.3]} for i in range(10_000)])
    yield _shared("long ids", DECIDE_MANY, [{"id": f"{i:0256}", "features": [0.3]} for i in range(200)])
    yield _shared("10,000 hashed actions", HASHED_MANY, [{"id": str(i)} for i in range(10_000)])
    yield _shared("wide hashed actions", HASHED_MANY, [{"id": str(i), "features": {"a": i}} for i in range(199)])
    many = [{"id": str(i), "features": {"a": [0.5] * 4_000}} for i in range(55)]
    yield _shared("actions of many features", HASHED_MANY, many)


def _shared(name: str, path: str, actions: list[dict[str, Any]]) -> Hostile:
    decisions = EVERYBODY if path == DECIDE_MANY else [{}] * len(EVERYBODY)
    return Hostile(f"{name} for 1,000 decisions", path, dumped({"actions": actions, "decisions": decisions}), 413)
