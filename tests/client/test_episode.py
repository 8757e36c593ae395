"""Episodes through both clients, on the real service."""

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from holdfast_client import Client, Conflict, NotFound, UnexpectedAnswer
from holdfast_client.simulator.network import Fault, Weather
from tests.acceptance.server import Server
from tests.client.conftest import Make
from tests.client.web import served

ACTIONS = {"left": [0.0], "right": [1.0]}
SHOP = {"name": "shop", "kind": "mdp", "features": {"kind": "dense", "context": 2, "action": 1}, "episode_length": 3}


@pytest.fixture
def shop(server: Server) -> Server:
    """With a learner of sessions."""
    assert server.post("/v1/learners", SHOP).status_code == 201
    return server


@pytest.fixture
def client(make: Make, shop: Server) -> Client:
    return make(str(shop.http.base_url))


def told(shop: Server, episode_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = shop.http.get(f"/v1/learners/shop/episodes/{episode_id}").json()
    return answer


def test_a_session_is_a_with_block(client: Client, shop: Server) -> None:
    with client.episode("shop") as episode:
        assert episode.episode_length == 3
        first = episode.step([0.1, 0.2], ACTIONS)
        assert (first.step, {ranked.id for ranked in first.ranking}) == (1, {"left", "right"})
        assert episode.reward(0.5, source="app").outcome == "pending"
        episode.step([0.3, 0.4], ACTIONS)
        second = episode.step([0.5, 0.6], ACTIONS, reward=0.25)
        assert second.step == 3
        episode.reward(0.0)
    held = told(shop, episode.episode_id)
    assert held["steps"][0]["action"] == first.action.id
    assert [(reward["step"], reward["value"]) for reward in held["rewards"]] == [(1, 0.5), (2, 0.25), (3, 0.0)]
    assert held["rewards"][0]["source"] == "app"
    assert held["learned"] is not None
    assert shop.http.get("/v1/learners/shop/diagnostics").json()["samples"] == 3


def test_it_can_be_finished_by_hand_with_its_last_state(client: Client, shop: Server) -> None:
    with client.episode("shop", "by-hand") as episode:
        episode.step([0.1, 0.2], ACTIONS)
        episode.reward(1.0)
        assert episode.finish([0.9, 0.9]).steps == 1
    assert told(shop, "by-hand")["learned"] is not None


def test_where_steps_share_a_model_the_last_is_learned_from_what_could_be_chosen_next(
    client: Client, shop: Server
) -> None:
    client.create_learner(
        "loop", kind="mdp", episode_length=2, stationary=True, features={"kind": "dense", "context": 2, "action": 1}
    )
    with client.episode("loop", "round") as episode:
        for _ in range(2):
            episode.step([0.1, 0.2], ACTIONS)
            episode.reward(0.5)
        end = episode.finish([0.3, 0.1], ACTIONS)
        assert (end.steps, end.outcome) == (2, "learned")
    assert shop.http.get("/v1/learners/loop/episodes/round").json()["learned"]["steps"] == [1, 2]


def test_a_block_that_fails_leaves_the_end_to_the_server(client: Client, shop: Server) -> None:
    with pytest.raises(KeyError), client.episode("shop", "failed"):
        raise KeyError
    assert told(shop, "failed")["finish"] is None


def test_another_process_can_go_on_with_it(client: Client, shop: Server) -> None:
    client.episode("shop", "long").start()
    there = client.episode("shop", "long")
    with pytest.raises(ValueError, match="which step"):
        there.reward(1.0)
    assert there.step([0.1, 0.2], ACTIONS).step == 1
    there.reward(0.5, step=1)
    there.finish()
    assert told(shop, "long")["learned"] is not None


def test_a_step_too_many_is_a_conflict_and_an_unknown_episode_not_found(client: Client) -> None:
    with client.episode("shop") as episode:
        for _ in range(3):
            episode.step([0.1, 0.2], ACTIONS)
        with pytest.raises(Conflict, match="episode-complete"):
            episode.step([0.1, 0.2], ACTIONS)
    with pytest.raises(NotFound, match="episode-not-found"):
        client.episode("shop", "nobody's").step([0.1, 0.2], ACTIONS)


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.CUT, Fault.DUPLICATED])
def test_every_call_of_an_episode_is_done_once(make: Make, shop: Server, fault: Fault) -> None:
    weather = Weather([fault, Fault.NONE] * 4)
    with make(str(shop.http.base_url), weather).episode("shop") as episode:
        assert episode.step([0.1, 0.2], ACTIONS).step == 1
        episode.reward(0.5)
    held = told(shop, episode.episode_id)
    assert (len(held["steps"]), len(held["rewards"])) == (1, 1)


def test_a_page_that_is_not_holdfasts_is_called_that(make: Make) -> None:
    page = Route("/health/ready", lambda request: HTMLResponse("<h1>It works!</h1>"))
    with served(Starlette(routes=[page])) as url, pytest.raises(UnexpectedAnswer, match="not one that Holdfast gives"):
        make(url).health()
