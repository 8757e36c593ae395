"""Rewards in the background, from a thread or a task."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast_client import Client, RewardResult, UndeliveredRewards
from holdfast_client.simulator.network import Fault, Weather
from tests.acceptance.server import Server, free_port, serving
from tests.client.conftest import Make
from tests.databases import fresh_url

ACTIONS = {"a": [0.3], "b": [0.9]}


def _decided(client: Client, count: int, learner: str = "home") -> list[str]:
    made = client.decide_many(learner, [{"actions": ACTIONS, "context": [0.1, 0.2]}] * count)
    return [decision.decision_id for decision in made]


def _rewarded(client: Client, learner: str = "home") -> list[str | None]:
    return [event.decision_id for event in client.log(learner) if event.kind == "reward"]


def test_rewards_go_in_batches_in_order_and_all_have_arrived_at_the_end(make: Make, server: Server) -> None:
    weather = Weather()
    client = make(str(server.http.base_url), weather)
    names = _decided(client, 100)
    with client.rewards_in_background(batch_max=20) as queue:
        assert all(queue.add("home", name, 0.5) for name in names)
    assert _rewarded(client) == names
    assert queue.counts.delivered == queue.counts.added == 100
    assert queue.counts.waiting == 0
    assert sum(request.url.path.endswith("/rewards/batch") for request in weather.requests) < 100


def test_flush_waits_for_what_was_added(client: Client) -> None:
    [name] = _decided(client, 1)
    with client.rewards_in_background() as queue:
        queue.add("home", name, 0.5)
        assert queue.flush()
        assert _rewarded(client) == [name]


def test_each_learner_gets_its_own(client: Client) -> None:
    client.create_learner("other", features={"kind": "dense", "context": 2, "action": 1})
    here, there = _decided(client, 5), _decided(client, 5, "other")
    with client.rewards_in_background() as queue:
        for one, other in zip(here, there, strict=True):
            queue.add("home", one, 0.5)
            queue.add("other", other, 0.5)
    assert _rewarded(client) == here
    assert _rewarded(client, "other") == there


def test_a_full_queue_drops_what_comes_and_counts_it_if_told_so(make: Make) -> None:
    away = make(f"http://127.0.0.1:{free_port()}", retries=0)
    queue = away.rewards_in_background(capacity=3, when_full="drop", close_within=0.01)
    assert [queue.add("home", f"d{n}", 1.0) for n in range(5)] == [True, True, True, False, False]
    assert (queue.counts.added, queue.counts.dropped, queue.counts.waiting) == (3, 2, 3)
    with pytest.raises(UndeliveredRewards) as undelivered:
        queue.close()
    assert undelivered.value.count == 3
    with pytest.raises(RuntimeError, match="closed"):
        queue.add("home", "d9", 1.0)


def test_a_full_queue_makes_the_caller_wait_if_told_so(client: Client) -> None:
    names = _decided(client, 50)
    with client.rewards_in_background(capacity=2, when_full="block") as queue:
        assert all(queue.add("home", name, 0.5) for name in names)
    assert _rewarded(client) == names


def test_a_restart_of_the_server_loses_and_doubles_nothing(make: Make, tmp_path: Path) -> None:
    with serving(fresh_url("sqlite", tmp_path)) as server:
        client = make(str(server.http.base_url), Weather([Fault.NONE, Fault.NONE, Fault.LOST_ANSWER]), retries=1)
        features = {"kind": "dense", "context": 2, "action": 1}
        client.create_learner("home", features=features, reward={"aggregation": "sum", "wait_s": 3600})
        names = _decided(client, 30)
        with client.rewards_in_background(batch_max=10) as queue:
            for name in names[:15]:
                queue.add("home", name, 0.5)
            server.kill()
            for name in names[15:]:
                queue.add("home", name, 0.5)
            assert not queue.flush(timeout=0.3)
            server.start()
        assert queue.counts.delivered == 30
        told = [event.extra["about"] for event in client.log("home") if event.kind == "reward"]
        assert told == list(range(1, 31))


def test_a_bad_reward_does_not_hold_up_the_others(client: Client) -> None:
    names = _decided(client, 4)
    results: dict[str, RewardResult] = {}
    queue = client.rewards_in_background(on_result=lambda learner, result: results.update({result.decision_id: result}))
    with queue:
        for name in [names[0], "nobody's", names[1], "x" * 300, names[2]]:
            queue.add("home", name, 0.5)
        queue.add("absent", names[3], 0.5)
    assert _rewarded(client) == names[:3]
    assert (queue.counts.delivered, queue.counts.refused) == (3, 3)
    statuses = {name: result.problem.status for name, result in results.items() if result.problem is not None}
    assert statuses == {"nobody's": 404, "x" * 300: 422, names[3]: 404}


@pytest.mark.parametrize(("source", "status"), [("x" * 9_000_000, 413), ([[[[[[[]]]]]]], 422)])
def test_a_reward_that_spoils_its_whole_batch_is_found_and_the_others_count(
    client: Client, source: Any, status: int
) -> None:
    names = _decided(client, 4)
    refused: list[RewardResult] = []
    with client.rewards_in_background(on_result=lambda _, r: refused.append(r) if r.problem else None) as queue:
        for name in names:
            queue.add("home", name, 0.5, source=source if name == names[2] else None)
    assert _rewarded(client) == [names[0], names[1], names[3]]
    assert [(one.decision_id, one.problem and one.problem.status) for one in refused] == [(names[2], status)]


def test_a_callback_that_fails_does_not_stop_the_queue(client: Client) -> None:
    def fail(learner: str, result: RewardResult) -> None:
        raise KeyError(learner)

    names = _decided(client, 3)
    with client.rewards_in_background(on_result=fail, batch_max=1) as queue:
        for name in names:
            queue.add("home", name, 0.5)
    assert queue.counts.delivered == 3


def test_rewards_for_fallbacks_are_ignored_and_what_cannot_be_sent_is_said_at_once(make: Make) -> None:
    client = make("http://127.0.0.1:1", Weather([Fault.CUT]))
    fallback = client.decide("home", ACTIONS, [0.1, 0.2], default_action="a", retries=0)
    assert fallback.fallback
    with client.rewards_in_background() as queue:
        assert not queue.add("home", fallback, 1.0)
        with pytest.raises(ValueError, match="JSON"):
            queue.add("home", "d1", float("nan"))
    assert (queue.counts.ignored, queue.counts.added) == (1, 0)


def test_closing_the_client_delivers_what_its_queues_have(server: Server) -> None:
    with Client(str(server.http.base_url)) as client:
        names = _decided(client, 10)
        queue = client.rewards_in_background()
        for name in names:
            queue.add("home", name, 0.5)
    assert queue.counts.delivered == 10


def test_a_program_that_just_ends_delivers_first(server: Server) -> None:
    with Client(str(server.http.base_url)) as client:
        names = _decided(client, 20)
        program = (
            "import sys; from holdfast_client import Client; queue = Client(sys.argv[1]).rewards_in_background()\n"
            "for name in sys.argv[2:]: queue.add('home', name, 0.5)"
        )
        subprocess.run([sys.executable, "-c", program, client.base_url, *names], check=True)
        assert _rewarded(client) == names


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"batch_max": 1001}, {"when_full": "forget"}])
def test_a_queue_that_cannot_work_is_refused(server: Server, wrong: dict[str, object]) -> None:
    with Client(str(server.http.base_url)) as client, pytest.raises(ValueError, match="capacity is at least 1"):
        client.rewards_in_background(**wrong)
