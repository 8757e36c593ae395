"""What is public, that it is the same twice, and that a user's program passes mypy --strict."""

import ast
import inspect
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import holdfast_client
from holdfast_client import AsyncClient, AsyncEpisode, AsyncRewardQueue, Client, Episode, RewardQueue

ROOT = Path(__file__).parent.parent.parent
PAIRS = [(Client, AsyncClient), (Episode, AsyncEpisode), (RewardQueue, AsyncRewardQueue)]
OWN_IN_ASYNC = {
    "AsyncIterator": "Iterator",
    "AsyncClient": "Client",
    "AsyncEpisode": "Episode",
    "AsyncRewardQueue": "RewardQueue",
    "AsyncBaseTransport": "BaseTransport",
}


def _public(cls: type) -> dict[str, Any]:
    return {name: member for name, member in vars(cls).items() if not name.startswith("_")}


def _signature(method: Any) -> str:
    """As it is written, with the names that differ between the twins made the same."""
    text = str(inspect.signature(method))
    for here, there in OWN_IN_ASYNC.items():
        text = text.replace(here, there)
    return text.replace("async_episode.", "episode.").replace("async_reward_queue.", "reward_queue.")


def test_the_public_surface_is_what_the_package_names() -> None:
    assert sorted(holdfast_client.__all__, key=str.casefold) == sorted(set(holdfast_client.__all__), key=str.casefold)
    nodes = ast.walk(ast.parse(Path(holdfast_client.__file__).read_text(encoding="utf-8")))
    ours = [n for n in nodes if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("holdfast_client")]
    assert {name.name for node in ours for name in node.names} == set(holdfast_client.__all__)
    for name in holdfast_client.__all__:
        assert getattr(holdfast_client, name)
    assert not hasattr(holdfast_client, "SyncClient")


def test_importing_it_does_not_import_asyncio() -> None:
    program = "import holdfast_client, sys; sys.exit('asyncio' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(("sync", "asynchronous"), PAIRS)
def test_both_twins_have_the_same_methods_with_the_same_arguments(sync: type, asynchronous: type) -> None:
    here, there = _public(sync), _public(asynchronous)
    assert here.keys() == there.keys()
    assert _signature(sync.__init__) == _signature(asynchronous.__init__) or sync is not Client
    for name, member in here.items():
        if callable(member):
            assert _signature(member) == _signature(there[name]), name


@pytest.mark.parametrize(("sync", "asynchronous"), PAIRS)
def test_whatever_talks_to_the_server_is_awaited_or_iterated(sync: type, asynchronous: type) -> None:
    """Only what makes an episode or a queue does not talk."""
    plain = {
        name
        for name, member in _public(asynchronous).items()
        if callable(member) and not inspect.iscoroutinefunction(member) and not inspect.isasyncgenfunction(member)
    }
    assert plain == ({"episode", "rewards_in_background"} if sync is Client else set())


def test_every_public_method_says_what_it_does() -> None:
    for pair in PAIRS:
        for cls in pair:
            for name, member in _public(cls).items():
                assert member.__doc__, f"{cls.__name__}.{name}"


def test_every_result_keeps_what_it_does_not_know() -> None:
    results = {typing.get_type_hints(method).get("return") for method in _public(Client).values() if callable(method)}
    shapes = [r for r in results if isinstance(r, type) and r.__module__ == "holdfast_client.models"]
    assert len(shapes) >= 6
    for shape in shapes:
        assert "extra" in shape.__dataclass_fields__


PROGRAM = """
import asyncio
from holdfast_client import AsyncClient, Client, Decision, HoldfastError, Question, Refused, RewardResult

def show(client: Client) -> str:
    try:
        decision: Decision = client.decide("home", {"a": [0.3], "b": [0.9]}, [0.1], default_action="a", timeout=1.0)
    except Refused as problem:
        return f"{problem.status} {problem.type} {problem.request_id}"
    result: RewardResult = client.reward("home", decision, 1.0, source="app")
    with client.rewards_in_background(when_full="drop", on_result=lambda learner, result: None) as queue:
        added: bool = queue.add("home", decision, 1.0)
    with client.episode("shop") as episode:
        step = episode.step([0.1], ["left", "right"])
        episode.reward(1.0)
    names: list[str] = [learner.name for learner in client.list_learners()]
    score: float = decision.ranking[0].score
    return decision.action.id + result.outcome + step.action.id + "".join(names) + str(score) + str(added)

async def ask() -> list[Decision]:
    questions: list[Question] = [{"actions": [{"id": "a", "features": [0.3]}], "context": [0.1]}]
    async with AsyncClient("http://localhost:8000") as client:
        async for event in client.log("home"):
            print(event.position)
        async with client.episode("shop") as episode:
            await episode.step({"page": "cart"}, ["stay"])
        return await client.decide_many("home", questions)

try:
    print(show(Client()), asyncio.run(ask()))
except HoldfastError as problem:
    print(problem)
"""


def test_a_users_program_passes_mypy_strict_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(PROGRAM, encoding="utf-8")
    wrong = PROGRAM.replace("decision.ranking[0].score", "decision.ranking[0].id")
    (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file=", "right.py", "wrong.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    assert len(said) == 2, said
    assert said[0].startswith("wrong.py:17: error: Incompatible types")
