"""Episodes, to the letter of the contract. For the lead: on `stand_in.py` until the service has them."""

from collections.abc import Iterator

import pytest

from holdfast_client import Client, Conflict, NotFound, UnexpectedAnswer
from tests.client.conftest import Make
from tests.client.faults import Fault, Weather
from tests.client.stand_in import StandIn, standing_in

ACTIONS = {"left": [0.0], "right": [1.0]}


@pytest.fixture
def place() -> Iterator[tuple[StandIn, str]]:
    with standing_in() as place:
        yield place


@pytest.fixture
def stand_in(place: tuple[StandIn, str]) -> StandIn:
    return place[0]


@pytest.fixture
def client(make: Make, place: tuple[StandIn, str]) -> Client:
    return make(place[1])


def test_a_session_is_a_with_block(client: Client, stand_in: StandIn) -> None:
    with client.episode("shop") as episode:
        assert episode.episode_length == 3
        first = episode.step([0.1, 0.2], ACTIONS)
        assert (first.step, first.action.id, first.ranking[0].id) == (1, "left", "left")
        assert episode.reward(0.5, source="app").outcome == "pending"
        second = episode.step([0.3, 0.4], ["stay"], reward=0.25)
        assert (second.step, second.action.id) == (2, "stay")
    steps = stand_in.episodes[episode.episode_id]
    assert steps[0] == {
        "state": [0.1, 0.2],
        "actions": [{"id": "left", "features": [0.0]}, {"id": "right", "features": [1.0]}],
    }
    assert steps[1] == {"state": [0.3, 0.4], "actions": [{"id": "stay"}], "reward": 0.25}
    assert stand_in.rewards[-1] == (episode.episode_id, {"step": 1, "value": 0.5, "source": "app"})
    assert stand_in.finished[episode.episode_id] == {}


def test_it_can_be_finished_by_hand_with_its_last_state(client: Client, stand_in: StandIn) -> None:
    with client.episode("shop", "by-hand") as episode:
        episode.step([0.1, 0.2], ACTIONS)
        assert episode.finish([0.9, 0.9]).extra == {"learned": 2}
    assert stand_in.finished["by-hand"] == {"state": [0.9, 0.9]}


def test_a_block_that_fails_leaves_the_end_to_the_server(client: Client, stand_in: StandIn) -> None:
    with pytest.raises(KeyError), client.episode("shop", "failed"):
        raise KeyError
    assert "failed" in stand_in.episodes
    assert "failed" not in stand_in.finished


def test_another_process_can_go_on_with_it(client: Client, stand_in: StandIn) -> None:
    client.episode("shop", "long").start()
    there = client.episode("shop", "long")
    with pytest.raises(ValueError, match="which step"):
        there.reward(1.0)
    assert there.step([0.1, 0.2], ACTIONS).step == 1
    there.reward(0.5, step=1)
    there.finish()
    assert stand_in.finished["long"] == {}


def test_a_step_too_many_is_a_conflict_and_an_unknown_episode_not_found(client: Client) -> None:
    with client.episode("shop") as episode:
        for _ in range(3):
            episode.step([0.1, 0.2], ACTIONS)
        with pytest.raises(Conflict, match="episode-over"):
            episode.step([0.1, 0.2], ACTIONS)
    with pytest.raises(NotFound, match="episode-not-found"):
        client.episode("shop", "nobody's").step([0.1, 0.2], ACTIONS)


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.CUT, Fault.DUPLICATED])
def test_every_call_of_an_episode_is_done_once(make: Make, place: tuple[StandIn, str], fault: Fault) -> None:
    stand_in, url = place
    with make(url, Weather([fault, Fault.NONE] * 4)).episode("shop") as episode:
        assert episode.step([0.1, 0.2], ACTIONS).step == 1
        episode.reward(0.5)
    assert len(stand_in.episodes[episode.episode_id]) == 1
    assert [name for name, _ in stand_in.rewards].count(episode.episode_id) == 1


def test_a_page_that_is_not_holdfasts_is_called_that(make: Make, place: tuple[StandIn, str]) -> None:
    with pytest.raises(UnexpectedAnswer, match="not one that Holdfast gives"):
        make(f"{place[1]}/page").health()
