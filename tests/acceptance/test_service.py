"""The contract over HTTP, against a real server on each database."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy.engine import URL

from holdfast.api.wire import BODY_BYTES_MAX
from tests.acceptance.folding import fold_log
from tests.acceptance.server import Server, serving

LEARNER = {"name": "home", "kind": "bandit", "features": {"kind": "dense", "context": 2, "action": 1}}
ACTIONS = [{"id": "a", "features": [0.3]}, {"id": "b", "features": [0.9]}]


def question(number: int = 0, **changes: Any) -> dict[str, Any]:
    return {"context": [0.1 * (number % 7), 0.2], "actions": ACTIONS, "decision_id": f"d{number}", **changes}


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    with serving(url) as server:
        assert server.post("/v1/learners", LEARNER | {"corruption": {"budget": 5.0}}).status_code == 201
        yield server


def _live(server: Server, count: int, start: int = 0) -> None:
    for number in range(start, start + count):
        assert server.post("/v1/learners/home/decisions", question(number)).status_code == 201
        if number % 4:
            body = {"decision_id": f"d{number}", "value": (number % 5) / 4}
            assert server.post("/v1/learners/home/rewards", body).json()["outcome"] == "learned"


def test_a_learner_decides_learns_and_remembers_after_a_restart(server: Server) -> None:
    _live(server, 40)
    state, diagnostics = (server.http.get(f"/v1/learners/home/{what}") for what in ("state", "diagnostics"))
    assert diagnostics.json()["rounds"] == 30
    assert diagnostics.json()["position"] == 70
    assert server.stop() == 0
    server.start()
    assert server.http.get("/v1/learners/home/state").content == state.content
    assert server.http.get("/v1/learners/home/diagnostics").json() == diagnostics.json()


def test_nothing_acknowledged_is_lost_by_kill_nine_and_the_log_alone_gives_the_same_state(server: Server) -> None:
    for round_ in range(3):
        _live(server, 15, start=15 * round_)
        acknowledged = server.http.get("/v1/learners/home/state").content
        server.kill()
        server.start()
        assert server.http.get("/v1/learners/home/state").content == acknowledged
        assert fold_log(server.http, "home") == acknowledged


def test_the_same_learner_again_is_no_conflict_but_another_is(server: Server) -> None:
    body = LEARNER | {"corruption": {"budget": 5.0}}
    assert server.post("/v1/learners", body).status_code == 200
    other = server.post("/v1/learners", body | {"seed": 7})
    assert other.status_code == 409
    assert other.headers["content-type"] == "application/problem+json"
    assert other.json()["type"] == "learner-exists"


def test_a_learner_created_under_a_key_is_answered_the_same_again(server: Server) -> None:
    key = {"Idempotency-Key": "k1"}
    bodies = [LEARNER | {"name": "new"}, LEARNER | {"name": "new", "seed": 7}, LEARNER | {"name": "other"}]
    first, again = (server.http.post("/v1/learners", json=bodies[0], headers=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    for body in bodies[1:]:
        refused = server.http.post("/v1/learners", json=body, headers=key)
        assert (refused.status_code, refused.json()["type"]) == (409, "idempotency-key-reused")
    assert server.http.get("/v1/learners/other").status_code == 404
    assert server.http.post("/v1/learners", json=bodies[2], headers={"Idempotency-Key": "k" * 300}).status_code == 422
    server.kill()
    server.start()
    assert server.http.post("/v1/learners", json=bodies[0], headers=key).content == first.content


def test_many_who_create_under_the_same_key_at_once_get_the_same_answer(server: Server) -> None:
    def created(_: int) -> bytes:
        key = {"Idempotency-Key": "k1"}
        return server.http.post("/v1/learners", json=LEARNER | {"name": "new"}, headers=key).content

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(created, range(24)))) == 1


def test_many_who_create_the_same_learner_at_once_get_one(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.post("/v1/learners", LEARNER | {"name": "new"}), range(24)))
    assert sorted(answer.status_code for answer in answers) == [200] * 23 + [201]
    assert {answer.json()["created_at"] for answer in answers} == {answers[0].json()["created_at"]}


def test_learners_are_listed_in_pages_changed_and_deleted(server: Server) -> None:
    for name in ("alpha", "beta"):
        server.post("/v1/learners", LEARNER | {"name": name})
    first = server.http.get("/v1/learners?limit=2").json()
    rest = server.http.get(f"/v1/learners?limit=2&cursor={first['next_cursor']}").json()
    assert [item["name"] for item in first["items"] + rest["items"]] == ["alpha", "beta", "home"]
    assert rest["next_cursor"] is None
    assert server.http.delete("/v1/learners/alpha").status_code == 204
    assert server.http.get("/v1/learners/alpha").status_code == 404
    assert server.http.patch("/v1/learners/home", json={"seed": 3}).status_code == 422


def test_what_cannot_change_is_named_and_what_is_not_known_is_not(server: Server) -> None:
    fixed = "cannot change without breaking the guarantee; create another learner"
    unknown = "has a field that is not known"
    for change, told in (
        ({"horizon": 7, "seed": 1}, {"/horizon": fixed, "/seed": fixed}),
        ({"features": {"kind": "dense"}, "name": "other"}, {"/features": fixed, "/name": fixed}),
        ({"reward": {"max": 2.0, "wait_s": 5}}, {"/reward/max": fixed}),
        ({"reward": {"secret": 2.0, "horizon": 3}}, {"/reward": unknown}),
        ({"secret": 1, "seed": 1}, {"": unknown, "/seed": fixed}),
        ({"mode": "frozen", "max": 1}, {"": unknown}),
    ):
        answer = server.http.patch("/v1/learners/home", json=change)
        assert answer.status_code == 422
        assert {error["pointer"]: error["detail"] for error in answer.json()["errors"]} == told
    assert server.http.get("/v1/learners/home").json()["mode"] == "online"


def test_a_deleted_learner_can_be_made_anew_and_has_forgotten(server: Server) -> None:
    _live(server, 8)
    server.http.delete("/v1/learners/home")
    server.post("/v1/learners", LEARNER)
    assert server.post("/v1/learners/home/decisions", question(1)).json()["position"] == 1
    assert fold_log(server.http, "home") == server.http.get("/v1/learners/home/state").content
    server.http.delete("/v1/learners/home")
    assert server.post("/v1/learners/home/decisions", question(1)).status_code == 404


def test_modes_and_pauses_take_effect_at_once(server: Server) -> None:
    server.http.patch("/v1/learners/home", json={"mode": "shadow"})
    assert server.post("/v1/learners/home/decisions", question(1)).json()["action"]["id"] == "a"
    server.http.patch("/v1/learners/home", json={"mode": "frozen"})
    reward = server.post("/v1/learners/home/rewards", {"decision_id": "d1", "value": 1.0})
    assert reward.json()["outcome"] == "ignored"
    server.http.patch("/v1/learners/home", json={"paused": True})
    assert server.post("/v1/learners/home/decisions", question(2)).status_code == 409


def test_a_shorter_wait_is_used_for_the_next_decisions_and_not_for_those_that_wait(server: Server) -> None:
    server.post("/v1/learners/home/decisions", question(1))
    assert server.http.patch("/v1/learners/home", json={"reward": {"wait_s": 0.001}}).status_code == 200
    server.post("/v1/learners/home/decisions", question(2))
    time.sleep(0.01)
    rewards = [{"decision_id": name, "value": 1.0} for name in ("d1", "d2")]
    answers = [server.post("/v1/learners/home/rewards", reward).json()["outcome"] for reward in rewards]
    assert answers == ["learned", "late"]


def test_batches_answer_each_item(server: Server) -> None:
    decisions = server.post("/v1/learners/home/decisions/batch", {"decisions": [question(n) for n in range(5)]})
    assert decisions.status_code == 201
    assert [d["decision_id"] for d in decisions.json()["decisions"]] == [f"d{n}" for n in range(5)]
    rewards = [{"decision_id": f"d{n}", "value": 0.5} for n in (0, 9, 1)]
    answers = server.post("/v1/learners/home/rewards/batch", {"rewards": rewards}).json()["rewards"]
    assert [a.get("outcome") for a in answers] == ["learned", None, "learned"]
    assert answers[1]["problem"]["status"] == 404


def test_a_decision_id_used_with_another_content_is_pointed_at(server: Server) -> None:
    batch = "/v1/learners/home/decisions/batch"
    assert server.post("/v1/learners/home/decisions", question(1)).status_code == 201
    for path, body, pointer in (
        ("/v1/learners/home/decisions", question(1, context=[0.9, 0.9]), "/decision_id"),
        (batch, {"decisions": [question(0), question(1), question(1, top=2)]}, "/decisions/2/decision_id"),
        (batch, {"decisions": [question(2), question(3), question(2, top=2)]}, "/decisions/2/decision_id"),
    ):
        refused = server.post(path, body)
        assert (refused.status_code, refused.json()["type"]) == (409, "decision-exists")
        told = [{"pointer": pointer, "detail": "this decision_id was used with another content"}]
        assert refused.json()["errors"] == told
    assert server.http.get("/v1/learners/home/diagnostics").json()["decisions"] == 1


def test_a_bad_reward_of_a_batch_has_its_problem_in_its_place_and_the_others_are_learned_in_order(
    server: Server,
) -> None:
    server.post("/v1/learners/home/decisions/batch", {"decisions": [question(n) for n in range(4)]})
    said = [{"decision_id": f"d{n}", "value": 0.5} for n in (3, 1, 2, 0)]
    bad: list[Any] = ["secret-word", {"decision_id": "d1"}, {"decision_id": "secret-word" * 30, "value": 1}]
    rewards = [bad[0], said[0], said[1], bad[1], {"decision_id": "never", "value": 1}, said[2], said[3], bad[2]]
    answer, again = (
        server.post("/v1/learners/home/rewards/batch", {"rewards": rewards}, **{"Idempotency-Key": "k1"})
        for _ in range(2)
    )
    assert (answer.status_code, again.content) == (200, answer.content)
    told = answer.json()["rewards"]
    assert [one["decision_id"] for one in told] == [None, "d3", "d1", "d1", "never", "d2", "d0", None]
    assert [one.get("outcome") or one["problem"]["status"] for one in told] == [
        422, "learned", "learned", 422, 404, "learned", "learned", 422,
    ]  # fmt: skip
    pointers = [error["pointer"] for one in told for error in one.get("problem", {}).get("errors", ())]
    assert pointers == ["", "", "/decision_id"]
    assert "secret-word" not in answer.text
    log = server.http.get("/v1/learners/home/log?after=4").json()["items"]
    assert [event["decision_id"] for event in log] == ["d3", "d1", "d2", "d0"]
    assert fold_log(server.http, "home") == server.http.get("/v1/learners/home/state").content


def test_a_batch_without_one_good_reward_is_still_asked_of_its_learner(server: Server) -> None:
    bad = {"rewards": [1, {}]}
    answer = server.post("/v1/learners/home/rewards/batch", bad)
    assert [one["problem"]["status"] for one in answer.json()["rewards"]] == [422, 422]
    assert server.post("/v1/learners/nobody/rewards/batch", bad).status_code == 404
    server.http.patch("/v1/learners/home", json={"paused": True})
    assert server.post("/v1/learners/home/rewards/batch", bad).json()["type"] == "paused"


@pytest.mark.parametrize("name", ["cursor", "after=1&cursor", "after"])
def test_the_log_is_read_page_by_page(server: Server, name: str) -> None:
    _live(server, 4)
    address, read = "/v1/learners/home/log?limit=3", []
    page = server.http.get(address).json()
    while (cursor := page["next_cursor"]) is not None:
        assert isinstance(cursor, str)
        read += page["items"]
        page = server.http.get(f"{address}&{name}={cursor}").json()
    assert [event["position"] for event in read + page["items"]] == list(range(1, 8))
    assert server.http.get(f"{address}&cursor=").json()["items"] == read[:3]


def test_a_decision_can_be_read_with_what_was_said_of_it(server: Server) -> None:
    server.post("/v1/learners/home/decisions", question(1, top=2))
    server.post("/v1/learners/home/rewards", {"decision_id": "d1", "value": 0.5, "source": "app"})
    told = server.http.get("/v1/learners/home/decisions/d1").json()
    assert told["shown"] == [told["action"], "a" if told["action"] == "b" else "b"]
    assert [(r["outcome"], r["source"]) for r in told["rewards"]] == [("learned", "app")]


def test_diagnostics_tell_what_waits_what_was_repeated_and_what_was_shown_lately(server: Server) -> None:
    _live(server, 8)
    for _ in range(3):
        server.post("/v1/learners/home/rewards", {"decision_id": "d1", "value": 0.25})
    last = server.post("/v1/learners/home/decisions", question(9, top=2)).json()
    told = server.http.get("/v1/learners/home/diagnostics").json()
    assert told["rewards"]["duplicate"] == 3
    assert told["rewards"]["learned"] == 6
    assert told["pending_decisions"] == 3  # two of the eight and the last
    assert told["gauge"] is None
    shown = [{key: item[key] for key in ("id", "mean", "bonus")} for item in last["ranking"]]
    assert told["recent_actions"] == shown
    server.kill()
    server.start()
    again = server.http.get("/v1/learners/home/diagnostics").json()
    assert again["rewards"].pop("duplicate") == 0
    told["rewards"].pop("duplicate")
    assert again == told


def test_only_the_chosen_one_is_ranked_if_asked_for(server: Server) -> None:
    answer = server.post("/v1/learners/home/decisions", question(1, ranking="chosen")).json()
    assert [r["id"] for r in answer["ranking"]] == [answer["action"]["id"]]


def test_two_servers_share_one_postgresql_and_sqlite_refuses_the_second(server: Server, url: URL) -> None:
    if url.get_backend_name() == "sqlite":
        second = Server(url)
        with pytest.raises(AssertionError, match="SQLite takes one process"):
            second.start()
        second.close()
        return
    with serving(url) as second:
        for number in range(12):
            one, other = (server, second) if number % 2 else (second, server)
            one.post("/v1/learners/home/decisions", question(number))
            body = {"decision_id": f"d{number}", "value": 0.5}
            assert other.post("/v1/learners/home/rewards", body).json()["outcome"] == "learned"
            assert one.post("/v1/learners/home/rewards", body).json()["outcome"] == "duplicate"
        second.kill()
        assert server.http.get("/v1/learners/home/diagnostics").json()["position"] == 24
        assert fold_log(server.http, "home") == server.http.get("/v1/learners/home/state").content


def test_a_keyed_request_is_done_once_and_answered_the_same_even_after_a_restart(server: Server) -> None:
    body = question(1)
    del body["decision_id"]
    first = server.post("/v1/learners/home/decisions", body, **{"Idempotency-Key": "k1"})
    server.kill()
    server.start()
    again = server.post("/v1/learners/home/decisions", body, **{"Idempotency-Key": "k1"})
    assert (again.status_code, again.content) == (first.status_code, first.content)
    other = server.post("/v1/learners/home/decisions", question(2), **{"Idempotency-Key": "k1"})
    assert other.status_code == 409
    assert server.http.get("/v1/learners/home").json()["position"] == 1


def test_sums_count_each_reward_but_a_repeated_key_only_once(server: Server) -> None:
    server.post("/v1/learners", LEARNER | {"name": "sum", "reward": {"aggregation": "sum"}})
    server.post("/v1/learners/sum/decisions", question(1))
    body = {"decision_id": "d1", "value": 0.3}
    outcomes = [server.post("/v1/learners/sum/rewards", body, **{"Idempotency-Key": k}).json() for k in ("a", "a", "b")]
    assert outcomes[0] == outcomes[1]
    assert [o["position"] for o in outcomes] == [2, 2, 3]


def test_a_state_moves_to_an_empty_learner_of_the_same_shape_and_survives(server: Server) -> None:
    _live(server, 20)
    state = server.http.get("/v1/learners/home/state").content
    server.post("/v1/learners", LEARNER | {"name": "twin", "corruption": {"budget": 5.0}})
    assert server.http.put("/v1/learners/twin/state", content=state).status_code == 200
    assert server.http.put("/v1/learners/twin/state", content=state).status_code == 409
    server.kill()
    server.start()
    assert server.http.get("/v1/learners/twin/state").content == state
    server.post("/v1/learners", LEARNER | {"name": "wide", "features": {"kind": "dense", "context": 3, "action": 1}})
    for damaged in (state, state[:-1], b"", b"HOLDFAST"):
        assert server.http.put("/v1/learners/wide/state", content=damaged).status_code == 422


def test_a_state_may_be_larger_than_a_request(server: Server) -> None:
    wide = LEARNER | {"features": {"kind": "dense", "context": 1_100, "action": 1}}
    for name in ("one", "two"):
        assert server.post("/v1/learners", wide | {"name": name}).status_code == 201
    state = server.http.get("/v1/learners/one/state").content
    assert len(state) > BODY_BYTES_MAX
    assert server.http.put("/v1/learners/two/state", content=state).status_code == 200
    assert server.http.get("/v1/learners/two/state").content == state


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"reward": {"wait_s": None}}, "/reward/wait_s"),
        ({"reward": None}, "/reward"),
        ({"mode": None}, "/mode"),
        ({"paused": None}, "/paused"),
        ({"episode_timeout_s": None}, "/episode_timeout_s"),
    ],
)
def test_null_is_nothing_to_change_to(server: Server, change: dict[str, Any], pointer: str) -> None:
    before = server.http.get("/v1/learners/home").json()
    refused = server.http.patch("/v1/learners/home", json=change)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)
    assert server.http.get("/v1/learners/home").json() == before
    assert server.post("/v1/learners/home/decisions", question(1)).status_code == 201


def test_a_default_can_be_taken_away(server: Server) -> None:
    changed = server.http.patch("/v1/learners/home", json={"reward": {"default": None}})
    assert (changed.status_code, changed.json()["reward"]["default"]) == (200, None)


def test_an_event_that_cannot_be_learned_is_pointed_at(server: Server) -> None:
    event = {"context": [1.0, 0.0], "actions": question(1)["actions"], "action_id": "a", "value": 1.0}
    for wrong, place in (({"value": 7.0}, "value"), ({"source": "a\0"}, "source")):
        refused = server.post("/v1/learners/home/events", {"events": [event, event | wrong]})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, f"/events/1/{place}")


def test_old_logs_can_be_learned_from_before_the_first_decision(server: Server) -> None:
    events = [
        {"context": [0.1, 0.2], "actions": ACTIONS, "action_id": "ab"[n % 2], "value": n % 2, "probability": 0.5}
        for n in range(10)
    ]
    answer = server.post("/v1/learners/home/events", {"events": events})
    assert [e["position"] for e in answer.json()["events"]] == list(range(1, 11))
    bad = [*events[:2], events[0] | {"action_id": "z"}]
    assert server.post("/v1/learners/home/events", {"events": bad}).status_code == 422
    state = server.http.get("/v1/learners/home/state").content
    server.kill()
    server.start()
    assert server.http.get("/v1/learners/home/state").content == state
    assert server.http.get("/v1/learners/home/diagnostics").json()["rounds"] == 10


def test_retractions_say_that_they_are_not_there_yet(server: Server) -> None:
    assert server.post("/v1/learners/home/retractions", {"source": "x"}).status_code == 501
    assert server.post("/v1/learners/absent/retractions", {"source": "x"}).json()["type"] == "learner-not-found"


def test_creating_a_learner_again_is_no_conflict_after_a_change(server: Server) -> None:
    described = LEARNER | {"corruption": {"budget": 5.0}}
    assert server.http.patch("/v1/learners/home", json={"reward": {"wait_s": 60}}).status_code == 200
    again = server.post("/v1/learners", described)
    assert (again.status_code, again.json()["reward"]["wait_s"]) == (200, 60)
    assert server.post("/v1/learners", described | {"horizon": 7}).status_code == 409


def test_an_id_with_a_slash_can_be_read_again(server: Server) -> None:
    assert server.post("/v1/learners/home/decisions", question(decision_id="a/b")).status_code == 201
    for path in ("a/b", "a%2Fb"):
        assert server.http.get(f"/v1/learners/home/decisions/{path}").json()["decision_id"] == "a/b"


def test_a_learner_that_was_replaced_is_asked_in_its_own_words_at_once(server: Server) -> None:
    server.post("/v1/learners/home/decisions", question())
    assert server.http.delete("/v1/learners/home").status_code == 204
    wide = LEARNER | {"features": {"kind": "dense", "context": 3, "action": 1}}
    assert server.post("/v1/learners", wide).status_code == 201
    assert server.post("/v1/learners/home/decisions", question(context=[0.1, 0.2, 0.3])).status_code == 201
