"""Sessions over HTTP, against a real server on each database: the contract, and restarts in the middle of episodes."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import URL

from holdfast.features import Candidate
from holdfast.hosting.blueprint import draw_sessions
from holdfast.learners import codec
from tests.acceptance.folding import fold_log
from tests.acceptance.server import Server, serving

LENGTH = 3
LEARNER = {
    "name": "home",
    "kind": "mdp",
    "features": {"kind": "dense", "context": 2, "action": 1},
    "episode_length": LENGTH,
    "corruption": {"budget": 5.0},
}
HOME = "/v1/learners/home"
ACTIONS = [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}]
STATES = [[0.1, 0.2], [0.5, -0.2], [-0.3, 0.4], [0.2, 0.6]]


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    with serving(url) as server:
        assert server.post("/v1/learners", LEARNER).status_code == 201
        yield server


def begin(server: Server, episode: str, learner: str = "home") -> dict[str, Any]:
    answer = server.post(f"/v1/learners/{learner}/episodes", {"episode_id": episode})
    assert answer.status_code == 201
    begun: dict[str, Any] = answer.json()
    return begun


def step(server: Server, episode: str, state: int, learner: str = "home", **more: Any) -> dict[str, Any]:
    body = {"state": STATES[state], "actions": ACTIONS, **more}
    answer = server.post(f"/v1/learners/{learner}/episodes/{episode}/steps", body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def tell(server: Server, episode: str, step: int, value: float, learner: str = "home", **more: Any) -> dict[str, Any]:
    body = {"step": step, "value": value, **more}
    answer = server.post(f"/v1/learners/{learner}/episodes/{episode}/rewards", body)
    assert answer.status_code == 200, answer.text
    verdict: dict[str, Any] = answer.json()
    return verdict


def play(server: Server, number: int, upto: int = LENGTH, learner: str = "home") -> None:
    """Steps 1 to `upto` of an episode, and the rewards of all but the last, which is told if it is the very last."""
    episode, rng = f"p{number}", np.random.default_rng(number)
    begin(server, episode, learner)
    for n in range(1, upto + 1):
        step(server, episode, int(rng.integers(4)), learner, step=n)
        if n < upto or upto == LENGTH:
            tell(server, episode, n, float(rng.integers(2)) / LENGTH, learner)


def quiet(server: Server, learner: str = "home") -> dict[str, Any]:
    """The diagnostics, once no plan is due."""
    for _ in range(500):
        told: dict[str, Any] = server.http.get(f"/v1/learners/{learner}/diagnostics").json()
        if not told["plans"]["is_due"] and not told["plans"]["is_outgrown"]:
            return told
        time.sleep(0.02)
    raise AssertionError("a plan is due for ever")


def state_of(server: Server, learner: str = "home") -> tuple[int, bytes]:
    answer = server.http.get(f"/v1/learners/{learner}/state").raise_for_status()
    return int(answer.headers["holdfast-position"]), answer.content


def test_an_episode_from_its_beginning_to_its_end(server: Server) -> None:
    assert begin(server, "e1") == {"episode_id": "e1", "episode_length": LENGTH, "position": 1}
    first = step(server, "e1", 0)
    assert {"step", "action", "ranking", "position"} <= set(first)
    assert (first["step"], first["position"], len(first["ranking"])) == (1, 2, 2)
    assert step(server, "e1", 1, reward=0.2)["step"] == 2
    assert tell(server, "e1", 2, 0.3)["outcome"] == "pending"
    chosen = step(server, "e1", 2, ranking="chosen")
    assert [one["id"] for one in chosen["ranking"]] == [chosen["action"]["id"]]
    last = tell(server, "e1", 3, 0.1, source="player")
    assert last["outcome"] == "learned"
    assert 0.0 < last["weight"] <= 1.0
    told = server.http.get(f"{HOME}/episodes/e1").json()
    assert [one["step"] for one in told["steps"]] == [1, 2, 3]
    assert [one["value"] for one in told["rewards"]] == [0.2, 0.3, 0.1]
    assert told["rewards"][2]["source"] == "player"
    assert told["learned"]["rewards"] == [0.2, 0.3, 0.1]
    diagnostics = quiet(server)
    assert (diagnostics["rounds"], diagnostics["samples"], diagnostics["decisions"]) == (1, 3, 3)
    assert diagnostics["rewards"]["pending"] == 0
    assert diagnostics["episodes"]["open"] == diagnostics["pending_decisions"] == 0
    assert diagnostics["recent_actions"][0]["id"] in ("a", "b")


def test_an_id_of_the_services_own_and_one_with_a_slash(server: Server) -> None:
    own = server.post(f"{HOME}/episodes", {}).json()["episode_id"]
    assert step(server, own, 0)["step"] == 1
    begin(server, "a/b c")
    assert step(server, "a%2Fb%20c", 0)["episode_id"] == "a/b c"
    assert server.http.get(f"{HOME}/episodes/a%2Fb%20c").json()["episode_id"] == "a/b c"


def test_whoever_has_nothing_to_say_may_send_nothing(server: Server) -> None:
    begun = server.http.post(f"{HOME}/episodes")
    assert begun.status_code == 201
    step(server, begun.json()["episode_id"], 0)
    finished = server.http.post(f"{HOME}/episodes/{begun.json()['episode_id']}/finish")
    assert (finished.status_code, finished.json()["steps"]) == (200, 1)


def test_finishing_early(server: Server) -> None:
    begin(server, "e1")
    step(server, "e1", 0)
    tell(server, "e1", 1, 0.5)
    ended = server.post(f"{HOME}/episodes/e1/finish", {"state": STATES[3]})
    assert (ended.status_code, ended.json()["outcome"], ended.json()["steps"]) == (200, "learned", 1)
    refused = server.post(f"{HOME}/episodes/e1/steps", {"state": STATES[0], "actions": ACTIONS})
    assert (refused.status_code, refused.json()["type"]) == (409, "episode-finished")


REFUSED = [
    ("episodes/never/steps", {"state": STATES[0], "actions": ACTIONS}, 404, "episode-not-found"),
    ("episodes/never/rewards", {"step": 1, "value": 0.5}, 404, "episode-not-found"),
    ("episodes/never/finish", {}, 404, "episode-not-found"),
    ("episodes/e1/rewards", {"step": 3, "value": 0.5}, 404, "step-not-found"),
    ("episodes/e1/rewards", {"step": 1, "value": 1.5}, 422, "invalid-input"),
    ("episodes/e1/rewards", {"step": 2, "value": 0.9}, 409, "reward-exists"),
    ("episodes/e1/steps", {"state": STATES[0], "actions": ACTIONS, "step": 1}, 409, "step-exists"),
    ("episodes/e1/steps", {"state": STATES[0], "actions": ACTIONS, "step": 4}, 409, "step-order"),
    ("episodes/e1/steps", {"state": STATES[0], "actions": ACTIONS, "reward": 0.8}, 409, "reward-exists"),
    ("episodes/p1/steps", {"state": STATES[0], "actions": ACTIONS}, 409, "episode-over"),
    ("decisions", {"context": STATES[0], "actions": ACTIONS}, 409, "other-kind"),
    ("rewards", {"decision_id": "d", "value": 0.5}, 409, "other-kind"),
]


def test_what_is_refused_says_why_and_changes_nothing(server: Server) -> None:
    begin(server, "e1")
    step(server, "e1", 1)
    step(server, "e1", 2)
    tell(server, "e1", 2, 0.1)
    play(server, 1)
    quiet(server)
    before = state_of(server)
    for path, body, status, slug in REFUSED:
        answer = server.post(f"{HOME}/{path}", body)
        assert (answer.status_code, answer.json()["type"]) == (status, slug), path
    assert state_of(server) == before


def test_what_is_wrong_with_a_state_is_told_of_the_state(server: Server) -> None:
    begin(server, "e1")
    for path in ("steps", "finish"):
        answer = server.post(f"{HOME}/episodes/e1/{path}", {"state": [0.1] * 50, "actions": ACTIONS})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/state")


def test_an_idempotency_key_works_on_every_route(server: Server) -> None:
    calls = [
        ("episodes", {}),
        ("episodes/e1/steps", {"state": STATES[0], "actions": ACTIONS}),
        ("episodes/e1/rewards", {"step": 1, "value": 0.5}),
        ("episodes/e1/finish", {}),
    ]
    begin(server, "e1")
    for number, (path, body) in enumerate(calls):
        key = {"Idempotency-Key": f"k{number}"}
        first, again = (server.post(f"{HOME}/{path}", body, **key) for _ in range(2))
        assert first.status_code in (200, 201)
        assert (again.status_code, again.content) == (first.status_code, first.content)
    other = server.post(f"{HOME}/episodes/e1/rewards", {"step": 1, "value": 0.6}, **{"Idempotency-Key": "k2"})
    assert other.status_code == 409


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_in_the_middle_of_episodes_loses_nothing_and_decides_the_same(server: Server, how: str) -> None:
    for number in range(12):
        play(server, number)
    for number in (100, 101, 102):
        play(server, number, upto=number - 100)
    quiet(server)
    position, state = state_of(server)
    blueprint = draw_sessions(server.http.get(HOME).json() | {"exploration_floor": 0.0})
    mdp = blueprint.mdp
    phi = blueprint.encoder.encode(STATES[3], [Candidate(**action) for action in ACTIONS])
    expected = mdp.decide(codec.restore(state, mdp), 3, phi, position + 1)
    getattr(server, how)()
    server.start()
    assert state_of(server) == (position, state)
    assert fold_log(server.http, "home") == state
    third = step(server, "p102", 3, step=3)
    assert (third["position"], third["action"]["index"]) == (position + 1, expected.chosen)
    best = [ACTIONS[int(index)]["id"] for index in expected.order]
    assert [one["id"] for one in third["ranking"]] == best
    assert [one["score"] for one in third["ranking"]] == expected.score[expected.order].tolist()
    assert step(server, "p102", 3, step=3) == third
    assert tell(server, "p102", 2, 0.0)["outcome"] == "pending"
    assert tell(server, "p102", 3, 0.0)["outcome"] == "learned"
    assert step(server, "p100", 0, step=1)["step"] == 1


def test_a_log_with_late_plans_and_longer_horizons_folds_outside_the_service(server: Server) -> None:
    server.post("/v1/learners", LEARNER | {"name": "short", "horizon": 8, "corruption": {"budget": "auto"}})
    for number in range(20):
        play(server, number, learner="short")
        if number == 10:
            server.kill()
            server.start()
    told = quiet(server, "short")
    assert told["horizon"] == 32
    assert told["plans"]["adopted"] >= 3
    state = state_of(server, "short")
    assert fold_log(server.http, "short") == state[1]
    server.kill()
    server.start()
    assert state_of(server, "short") == state


def test_a_log_of_steps_that_share_a_model_folds_outside_the_service(server: Server) -> None:
    server.post("/v1/learners", LEARNER | {"name": "same", "stationary": True})
    for number in range(8):
        play(server, number, learner="same")
        finish = {"state": STATES[number % 4], "actions": ACTIONS} if number % 2 else {}
        assert server.post(f"/v1/learners/same/episodes/p{number}/finish", finish).json()["outcome"] == "learned"
    told = quiet(server, "same")
    assert (told["samples"], told["episodes"]["steps_left_out"]) == (8 * LENGTH - 4, 4)
    assert fold_log(server.http, "same") == state_of(server, "same")[1]


def test_two_servers_share_the_episodes_of_one_postgresql(server: Server, url: URL) -> None:
    if url.get_backend_name() == "sqlite":
        return
    with serving(url) as other:
        for number in range(10):
            rng = np.random.default_rng(number)
            begin(server, f"s{number}")
            for n in range(1, LENGTH + 1):
                one, two = (server, other) if n % 2 else (other, server)
                step(one, f"s{number}", int(rng.integers(4)), step=n)
                tell(two, f"s{number}", n, 0.1)
        quiet(server)
        quiet(other)
        assert state_of(server) == state_of(other)
        assert fold_log(other.http, "home") == state_of(server)[1]


def test_many_sessions_at_once(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: play(server, number), range(40)))
    told = quiet(server)
    assert (told["rounds"], told["samples"]) == (40, 120)
    assert fold_log(server.http, "home") == state_of(server)[1]


def test_a_time_out_is_an_event_and_can_be_changed(server: Server) -> None:
    assert server.http.patch(HOME, json={"episode_timeout_s": 0.2}).status_code == 200
    begin(server, "e1")
    step(server, "e1", 0)
    step(server, "e1", 1, reward=0.4)
    for _ in range(500):
        if server.http.get(f"{HOME}/episodes/e1").json()["learned"]:
            break
        time.sleep(0.02)
    told = server.http.get(f"{HOME}/episodes/e1").json()["learned"]
    assert (told["reason"], told["steps"]) == ("timeout", [1])
    assert tell(server, "e1", 2, 0.1)["outcome"] == "late"
    assert server.http.patch(HOME, json={"reward": {"wait_s": 5}}).status_code == 422
    assert server.http.patch(HOME, json={"reward": {"default": 0.1}}).json()["reward"]["default"] == 0.1


SENSELESS = [
    {"episode_length": 0},
    {"episode_length": None},
    {"episode_length": 10**6},
    {"episode_length": True},
    {"episode_timeout_s": 0},
    {"reward": {"wait_s": 5}},
    {"reward": {"aggregation": "sum"}},
    {"reward": {"min": 0.5}},
    {"reward": {"max": -1.0, "min": -2.0}},
    {"reward": {"step_max": 0.1}},
    {"reward": {"step_max": 2.0}},
    {"reward": {"min": -1.0, "step_max": 0.5}},
    {"reward": {"default": 2.0}},
    {"confidence": 0.1},
    {"noise": 0.1},
    {"radius": "theory"},
    {"function": {"kind": "logistic"}},
    {"kind": "bandit"},
]


def test_a_description_that_makes_no_sense_is_refused(server: Server) -> None:
    for changes in SENSELESS:
        answer = server.post("/v1/learners", LEARNER | {"name": "odd"} | changes)
        assert answer.status_code == 422, changes


def test_a_state_moves_to_another_learner(server: Server) -> None:
    for number in range(6):
        play(server, number)
    quiet(server)
    state = state_of(server)[1]
    server.post("/v1/learners", LEARNER | {"name": "twin"})
    assert server.http.put("/v1/learners/twin/state", content=state).status_code == 200
    server.kill()
    server.start()
    assert server.http.get("/v1/learners/twin/state").content == state
    server.post("/v1/learners", LEARNER | {"name": "longer", "episode_length": 4})
    assert server.http.put("/v1/learners/longer/state", content=state).status_code == 422


def test_a_page_of_the_log_has_a_bounded_size(server: Server) -> None:
    wide = {"kind": "dense", "action": 100, "joint": "action"}
    server.post("/v1/learners", LEARNER | {"name": "wide", "features": wide})
    actions = [{"id": str(i), "features": [0.1] * 100} for i in range(2_500)]
    assert server.post("/v1/learners/wide/episodes", {"episode_id": "e"}).status_code == 201
    for number in (1, 2, 3):
        answer = server.post("/v1/learners/wide/episodes/e/steps", {"actions": actions, "step": number})
        assert answer.status_code == 201
    page = server.http.get("/v1/learners/wide/log?limit=500").json()
    assert [item["kind"] for item in page["items"]] == ["episode", "step", "step"]
    rest = server.http.get(f"/v1/learners/wide/log?after={page['next_cursor']}").json()
    assert [item["kind"] for item in rest["items"]] == ["step"]
    assert rest["next_cursor"] is None
    assert "phi" not in server.http.get("/v1/learners/wide/episodes/e").json()["steps"][0]
    more = [{"id": str(i), "features": [0.1] * 100} for i in range(2_700)]
    server.post("/v1/learners/wide/episodes", {"episode_id": "f"})
    assert server.post("/v1/learners/wide/episodes/f/steps", {"actions": more}).status_code == 422
