"""What comes back, read: answers, problems, and things that are neither."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from holdfast_client import Refused, ServerError, TooLarge, Unavailable, UnexpectedAnswer
from holdfast_client.answers import check, decision, diagnostics, reward, rewards, understood

DECISION = {"decision_id": "d", "learner": "home", "action": {"id": "a", "index": 0}, "position": 1, "ranking": []}


def _error(response: httpx.Response) -> Refused:
    with pytest.raises(Refused) as raised:
        check(response)
    return raised.value


def test_fields_that_this_version_does_not_know_are_kept() -> None:
    row = {"id": "a", "score": 1, "mean": 0.5, "bonus": 0.5, "probability": 1, "variance": 0.1}
    body = DECISION | {"ranking": [row], "shard": 3, "action": {"id": "a", "index": 0, "colour": "red"}}
    made = decision(httpx.Response(201, json=body))
    assert made.extra == {"shard": 3}
    assert made.action.extra == {"colour": "red"}
    assert made.ranking[0].extra == {"variance": 0.1}


@pytest.mark.parametrize(("headers", "is_told"), [({}, True), ({"Authorization": "Bearer x"}, False)])
def test_who_is_refused_without_a_key_is_told_where_one_goes(headers: dict[str, str], is_told: bool) -> None:
    request = httpx.Request("GET", "http://holdfast.example", headers=headers)
    error = _error(httpx.Response(401, json={"type": "unauthorised", "detail": "send a key"}, request=request))
    assert error.detail.startswith("send a key")
    assert ("HOLDFAST_API_KEY" in str(error)) == is_told


def test_a_field_of_our_own_is_never_the_servers_to_fill() -> None:
    made = decision(httpx.Response(201, json=DECISION | {"fallback": True, "extra": 1}))
    assert not made.fallback
    assert made.extra == {"fallback": True, "extra": 1}


def test_a_reward_that_the_server_does_not_name_is_known_by_its_place() -> None:
    problem = {"type": "invalid-input", "title": "Invalid input", "status": 422, "detail": "/decision_id: is long"}
    learned = {"decision_id": "d", "outcome": "learned", "weight": 1.0, "position": 2}
    body = {"rewards": [{"decision_id": None, "problem": problem}, learned, {"decision_id": None, "problem": problem}]}
    results = rewards(["x" * 300, "d", "\0"])(httpx.Response(200, json=body))
    told = [("x" * 300, "refused"), ("d", "learned"), ("\0", "refused")]
    assert [(result.decision_id, result.outcome) for result in results] == told


def test_results_cannot_be_changed() -> None:
    made = decision(httpx.Response(201, json=DECISION))
    with pytest.raises(AttributeError):
        made.position = 2
    assert {made: "it can be a key"}[decision(httpx.Response(201, json=DECISION))]


def test_diagnostics_of_an_older_server_are_read_as_far_as_they_go() -> None:
    read = diagnostics(httpx.Response(200, json={"rounds": 3, "position": 7}))
    assert (read.rounds, read.gauge, read.weights.counts) == (3, None, ())


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b"null", b'{"decision_id": 1}'])
def test_an_answer_without_its_fields_is_unexpected(body: bytes) -> None:
    response = httpx.Response(200, content=body, headers={"X-Request-Id": "r-1"})
    for read in (decision, reward, diagnostics):
        with pytest.raises(UnexpectedAnswer) as raised:
            understood(response, read)
        assert raised.value.request_id == "r-1"


def test_a_problem_has_its_members_its_request_and_what_else_it_says() -> None:
    body = {"type": "too-large", "title": "Too large", "status": 413, "detail": "at most 8 MiB", "limit": 8}
    body |= {"errors": [{"pointer": "/a", "detail": "is long"}]}
    error = _error(httpx.Response(413, json=body, headers={"X-Request-Id": "r-7"}))
    assert isinstance(error, TooLarge)
    assert (error.status, error.type, error.title, error.detail) == (413, "too-large", "Too large", "at most 8 MiB")
    assert [(flaw.pointer, flaw.detail) for flaw in error.errors] == [("/a", "is long")]
    assert (error.request_id, error.problem.extra) == ("r-7", {"limit": 8})
    assert str(error) == "413 too-large: at most 8 MiB (request r-7)"


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"status": "error", "errors": "many"}', b""])
def test_a_proxys_error_is_an_error_all_the_same(body: bytes) -> None:
    error = _error(httpx.Response(502, content=body))
    assert isinstance(error, ServerError)
    assert (error.status, error.title, error.errors, error.request_id) == (502, "Bad Gateway", (), None)


def test_an_unknown_status_is_a_refusal() -> None:
    assert _error(httpx.Response(499)).title == "no reason given"


def test_a_redirection_is_no_answer() -> None:
    with pytest.raises(UnexpectedAnswer, match="redirects"):
        check(httpx.Response(302, headers={"Location": "https://login.example"}))


def test_retry_after_is_read_as_seconds_or_as_a_date() -> None:
    assert _error(httpx.Response(503, headers={"Retry-After": "7"})).retry_after_s == 7.0
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    in_an_hour = _error(httpx.Response(503, headers={"Retry-After": date})).retry_after_s
    assert in_an_hour is not None
    assert 3000 < in_an_hour <= 3600
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert _error(httpx.Response(503, headers={"Retry-After": past})).retry_after_s == 0.0
    for nonsense in ("soon", "-3", ""):
        error = _error(httpx.Response(503, headers={"Retry-After": nonsense}))
        assert isinstance(error, Unavailable)
        assert error.retry_after_s is None
