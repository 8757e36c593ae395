"""Both clients against a real server, in good weather and bad."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast_client import (
    Client,
    Conflict,
    InvalidRequest,
    NoAnswer,
    NotFound,
    RateLimited,
    Refused,
    TimedOut,
    Unauthorised,
    Unavailable,
)
from holdfast_client.simulator.network import Fault, Weather
from tests.acceptance.server import Server, free_port, serving
from tests.client.conftest import Make
from tests.databases import fresh_url

ACTIONS = {"a": [0.3], "b": [0.9]}
FEATURES = {"kind": "dense", "context": 2, "action": 1}


@pytest.fixture
def silent_url() -> Iterator[str]:
    """Somebody who takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _position(server: Server, learner: str = "home") -> int:
    position: int = server.http.get(f"/v1/learners/{learner}").json()["position"]
    return position


def test_learners_are_listed_page_by_page(client: Client) -> None:
    for name in ("alpha", "beta"):
        client.create_learner(name, features=FEATURES)
    assert [learner.name for learner in client.list_learners(page_size=1)] == ["alpha", "beta", "home"]


def test_the_log_is_read_page_by_page_and_from_a_position(client: Client) -> None:
    client.decide_many("home", [{"actions": ACTIONS, "context": [0.1, 0.2]}] * 5)
    assert [event.position for event in client.log("home", page_size=2)] == [1, 2, 3, 4, 5]
    assert [event.position for event in client.log("home", after=3, page_size=2)] == [4, 5]


def test_questions_may_come_one_by_one_and_make_their_actions_when_they_are_asked_for(client: Client) -> None:
    class Lazy(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            return list(super().__getitem__(name))

    some = ({"actions": {"a": [0.3], f"b{i}": [0.9]}, "context": [0.1, 0.2]} for i in range(3))
    made = client.decide_many("home", some)  # type: ignore[arg-type]
    assert [{one.id for one in decision.ranking} for decision in made] == [{"a", f"b{i}"} for i in range(3)]
    lazy = [Lazy(actions=[{"id": f"c{i}", "features": [0.3]}], context=[0.1, 0.2]) for i in range(20)]
    made = client.decide_many("home", lazy)  # type: ignore[arg-type]
    assert [decision.action.id for decision in made] == [f"c{i}" for i in range(20)]


def test_actions_are_ids_or_objects_or_features_by_id_and_arrays_are_lists(client: Client) -> None:
    objects = [{"id": "a", "features": np.array([0.3])}, {"id": "b", "features": [np.float64(0.9)]}]
    first = client.decide("home", objects, np.array([0.1, 0.2]), decision_id="d")
    assert client.decide("home", ACTIONS, [0.1, 0.2], decision_id="d") == first
    client.create_learner("ids", features={"kind": "dense", "context": 2, "joint": "disjoint", "actions": ["x", "y"]})
    assert client.decide("ids", ["x", "y"], [0.1, 0.2]).action.id in "xy"


def test_every_shown_action_can_be_rewarded(client: Client) -> None:
    decision = client.decide("home", ACTIONS, [0.1, 0.2], top=2, ranking="chosen")
    assert [row.id for row in decision.ranking] == [decision.action.id]
    results = [client.reward("home", decision, 0.5, action_id=name).outcome for name in ACTIONS]
    assert results == ["learned", "learned"]
    assert len(client.decision("home", decision.decision_id).rewards) == 2


def test_a_refusal_has_its_status_its_type_and_its_places(client: Client) -> None:
    with pytest.raises(InvalidRequest) as refused:
        client.decide("home", {"a": [0.3, 0.4]}, [0.1, 0.2])
    assert (refused.value.status, refused.value.type) == (422, "invalid-input")
    assert [flaw.pointer for flaw in refused.value.errors] == ["/actions/0/features"]
    with pytest.raises(NotFound, match="learner-not-found"):
        client.diagnostics("nobody")
    with pytest.raises(Conflict, match="learner-exists"):
        client.create_learner("home", features=FEATURES, seed=9)


def test_without_a_good_key_nothing_is_done_and_the_key_is_never_shown(make: Make, tmp_path: Path) -> None:
    with serving(fresh_url("sqlite", tmp_path), auth="on") as server:
        printed = server.said().split("shown only now: ")[1].split()[0]
        url = str(server.http.base_url)
        assert make(url, api_key=printed).create_learner("home", features=FEATURES).name == "home"
        with pytest.raises(Unauthorised) as refused:
            make(url, api_key="hf_wrong_secret").get_learner("home")
        assert "secret" not in str(refused.value)


def test_the_address_and_the_key_come_from_the_environment(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "HOLDFAST_URL", f"{server.http.base_url}/")
    monkeypatch.setitem(os.environ, "HOLDFAST_API_KEY", "from-the-environment\n")
    weather = Weather()
    assert make("", weather).health().ready
    assert weather.requests[0].headers["Authorization"] == "Bearer from-the-environment"


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault is not Fault.NONE])
def test_whatever_happens_to_a_request_it_is_done_once(make: Make, server: Server, fault: Fault) -> None:
    client = make(str(server.http.base_url), Weather([fault, Fault.NONE] * 4), retries=3)
    decision = client.decide("home", ACTIONS, [0.1, 0.2])
    assert not decision.fallback
    [other] = client.decide_many("home", [{"actions": ACTIONS, "context": [0.1, 0.2]}])
    assert client.reward("home", decision, 1.0).outcome == "learned"
    assert [r.outcome for r in client.reward_many("home", [{"decision_id": other.decision_id, "value": 0.0}])] == [
        "learned"
    ]
    assert _position(server) == 4


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.LOST_ANSWER, Fault.AWAY])
def test_all_attempts_send_the_same_bytes_and_the_same_key(make: Make, server: Server, fault: Fault) -> None:
    weather = Weather([fault] * 2)
    client = make(str(server.http.base_url), weather)
    seen = {"context": [0.1, 0.2], "actions": ACTIONS, "action_id": "a", "value": 1.0}
    client.observe("home", [seen])
    assert len(weather.requests) == 3
    assert len({request.headers["Idempotency-Key"] for request in weather.requests}) == 1
    assert len({request.content for request in weather.requests}) == 1
    client.observe("home", [seen])
    assert weather.requests[-1].headers["Idempotency-Key"] != weather.requests[0].headers["Idempotency-Key"]
    assert _position(server) == 2


def test_what_cannot_change_is_not_asked_again(make: Make, server: Server) -> None:
    weather = Weather()
    client = make(str(server.http.base_url), weather)
    for ask in (
        lambda: client.get_learner("nobody"),
        lambda: client.decide("home", {"a": [0.3, 0.4]}),
        lambda: client.retract("home", source="x"),  # 501, until the server has retractions
    ):
        with pytest.raises(Refused):
            ask()
    assert len(weather.requests) == 3


def test_retries_end_with_the_last_problem_and_can_be_forbidden(make: Make, server: Server) -> None:
    weather = Weather([Fault.AWAY, Fault.RATE_LIMITED, Fault.CUT, Fault.AWAY])
    client = make(str(server.http.base_url), weather, retries=1)
    with pytest.raises(RateLimited):
        client.diagnostics("home")
    with pytest.raises(NoAnswer):
        client.diagnostics("home", retries=0)
    with pytest.raises(Unavailable) as refused:
        client.diagnostics("home", retries=0)
    assert refused.value.retry_after_s == 0.0
    assert len(weather.requests) == 4


def test_a_silent_server_is_not_waited_for(make: Make, silent_url: str) -> None:
    client = make(silent_url)
    with pytest.raises(TimedOut):
        client.decide("home", ACTIONS, [0.1, 0.2], timeout=0.2)
    with pytest.raises(TimedOut):
        client.reward("home", "d1", 1.0, timeout=0.2, retries=0)


def test_a_deletion_whose_answer_was_lost_is_done(make: Make, server: Server) -> None:
    client = make(str(server.http.base_url), Weather([Fault.LOST_ANSWER]))
    client.delete_learner("home")
    with pytest.raises(NotFound):
        client.delete_learner("home")


def test_an_import_that_may_have_been_done_is_not_repeated(make: Make, server: Server) -> None:
    state = server.http.get("/v1/learners/home/state").content
    weather = Weather([Fault.UNREACHABLE, Fault.LOST_ANSWER])
    client = make(str(server.http.base_url), weather)
    with pytest.raises(NoAnswer):
        client.import_state("home", state)
    assert len(weather.requests) == 2
    assert _position(server) == 1
    assert client.export_state("home") == state


@pytest.mark.parametrize("script", [[Fault.UNREACHABLE] * 9, [Fault.LOST_ANSWER] * 9, [Fault.AWAY] * 9])
def test_the_default_action_is_shown_when_the_server_is_away(make: Make, server: Server, script: list[Fault]) -> None:
    client = make(str(server.http.base_url), Weather(script), retries=2)
    decision = client.decide("home", ACTIONS, [0.1, 0.2], default_action="b")
    assert decision.fallback
    assert (decision.action.id, decision.action.index) == ("b", 1)
    assert decision.position is None
    assert decision.ranking == ()
    assert isinstance(decision.problem, NoAnswer | Unavailable)
    many = client.decide_many("home", [{"actions": ACTIONS}] * 2, default_actions=["a", "b"])
    assert [(d.action.id, d.fallback) for d in many] == [("a", True), ("b", True)]


def test_a_silent_server_means_the_default_action(make: Make, silent_url: str) -> None:
    client = make(silent_url, decision_timeout=0.2)
    assert client.decide("home", ACTIONS, [0.1, 0.2], default_action="a").fallback


def test_a_mistake_of_the_caller_is_no_reason_for_the_default_action(client: Client) -> None:
    with pytest.raises(InvalidRequest):
        client.decide("home", {"a": [0.3, 0.4]}, default_action="a")
    with pytest.raises(NotFound):
        client.decide("nobody", ACTIONS, default_action="a")
    with pytest.raises(ValueError, match="one of the actions"):
        client.decide("home", ACTIONS, default_action="z")
    with pytest.raises(ValueError, match="one for each"):
        client.decide_many("home", [{"actions": ACTIONS}], default_actions=[])


def test_a_reward_for_a_fallback_is_ignored_even_if_the_server_made_that_decision(make: Make, server: Server) -> None:
    """It may have chosen another action than the one that was shown; nothing true can be said of that."""
    client = make(str(server.http.base_url), Weather([Fault.LOST_ANSWER]))
    fallback = client.decide("home", ACTIONS, [0.1, 0.2], decision_id="d1", default_action="a", retries=0)
    assert fallback.fallback
    assert client.decision("home", "d1").rewards == ()
    assert client.reward("home", fallback, 1.0).outcome == "ignored"
    assert client.reward("home", fallback.decision_id, 1.0).outcome == "ignored"
    real = client.decide("home", ACTIONS, [0.1, 0.2])
    said = [{"decision_id": d.decision_id, "value": 1.0} for d in (fallback, real, fallback)]
    results = client.reward_many("home", said)
    assert [result.outcome for result in results] == ["ignored", "learned", "ignored"]
    assert client.reward_many("home", [said[0]])[0].outcome == "ignored"
    assert client.decision("home", "d1").rewards == ()


def test_a_bad_reward_of_a_batch_is_told_under_the_id_it_was_sent_with(client: Client) -> None:
    made = client.decide_many("home", [{"actions": ACTIONS, "context": [0.1, 0.2]}] * 2)
    fallback = {"decision_id": "fallback-1", "value": 1.0}
    said: list[Any] = [{"decision_id": d.decision_id, "value": 1.0} for d in made]
    bad: list[Any] = [{"decision_id": "x" * 300, "value": 1.0}, {"decision_id": made[1].decision_id, "value": "much"}]
    claims = [fallback, bad[0], said[0], bad[1], said[1]]
    results = client.reward_many("home", claims)
    assert [result.decision_id for result in results] == [claim["decision_id"] for claim in claims]
    assert [result.outcome for result in results] == ["ignored", "refused", "learned", "refused", "learned"]
    pointers = [flaw.pointer for result in results if result.problem for flaw in result.problem.errors]
    assert pointers == ["/decision_id", "/value"]


def test_nobody_at_the_address_is_said_with_the_address(make: Make) -> None:
    port = free_port()
    with pytest.raises(NoAnswer, match=f"http://127.0.0.1:{port}/health/ready") as problem:
        make(f"http://someone:secret@127.0.0.1:{port}", retries=1).health()
    assert problem.value.nothing_sent
    assert "secret" not in str(problem.value)
