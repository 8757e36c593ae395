"""Load tells the truth about latency and about who was slow. How fast anything is, is not asserted here."""

import asyncio
import io
import signal
import threading
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import pytest

from holdfast_client.simulator import load_report, workers
from holdfast_client.simulator.auditor import Violation
from holdfast_client.simulator.load import Measured, NoAnswerAtAll, jobs_of, put_on
from holdfast_client.simulator.network import REMEMBERED, Fault, Weather
from holdfast_client.simulator.processes import Busy, Usage
from holdfast_client.simulator.scenarios import SCENARIOS
from holdfast_client.simulator.soak import Soaked
from holdfast_client.simulator.traffic import ARRIVALS, Post, Traffic, schedule
from holdfast_client.simulator.workers import DecisionWorker, Load, Told
from tests.acceptance.server import Server, serving
from tests.databases import fresh_url


def _measured(service: float, worker: float, latencies: list[float] | None = None) -> Measured:
    latencies = latencies or [0.01] * 100
    told = Told(
        np.linspace(0.0, 9.9, len(latencies)).tolist(), latencies, 100, 100, seconds=10.0, busy=Busy(worker, worker)
    )
    samples = [Usage(float(at), service * at, 0.0, 100.0) for at in range(11)]
    return Measured(Load("clicks-farm", 10.0, 10.0), [told], samples)


@pytest.mark.parametrize(
    ("service", "worker", "said"),
    [
        (0.97, 0.5, "the service is the bottleneck"),
        (0.3, 0.97, "THE SIMULATOR IS"),
        (0.9, 0.99, "THE SIMULATOR IS"),
        (0.3, 0.3, "neither"),
    ],
)
def test_the_report_says_who_was_the_bottleneck(service: float, worker: float, said: str) -> None:
    assert _measured(service, worker).verdict().startswith(said)


@pytest.mark.parametrize(("worker", "said"), [(0.97, "THE SIMULATOR IS"), (0.3, "the simulator is not at its limit")])
def test_the_simulator_knows_its_own_limit_also_where_the_service_cannot_be_watched(worker: float, said: str) -> None:
    measured = _measured(0.97, worker)
    measured.samples = []
    assert measured.verdict().startswith(said)
    assert "service not watched" in measured.verdict()


def test_the_service_is_watched_only_while_all_workers_work() -> None:
    measured = _measured(0.5, 0.2)
    measured.told[0].began_at_s, measured.told[0].seconds = 2.0, 5.0
    idle, busy = Usage(0.0, 0.0, 0.0, 100.0), Usage(100.0, 900.0, 0.0, 100.0)
    measured.samples = [idle, *(Usage(float(at), 0.5 * at, 0.0, 100.0) for at in range(1, 11)), busy]
    assert [sample.at_s for sample in measured.during()] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert measured.service() == Busy(0.5, 0.5)


def test_quantiles_are_those_of_all_calls() -> None:
    measured = _measured(0.5, 0.2, [number / 1e3 for number in range(1_001)])
    expected = {"p50": 500.0, "p90": 900.0, "p99": 990.0, "p99.9": 999.0}
    assert load_report.facts(measured)["latency_ms"] == pytest.approx(expected)
    [header, row] = load_report.rows(measured)
    assert [row[header.index(f"{name} ms")] for name in expected] == ["500.0", "900.0", "990.0", "999.0"]


def test_calls_that_failed_are_told_with_the_first_reason() -> None:
    measured = _measured(0.5, 0.2)
    assert not any("failed" in line for line in load_report.lines(measured)[1:])
    measured.told[0].failures, measured.told[0].problem = 3, "503 recovering"
    assert "3 calls failed, the first with: 503 recovering" in load_report.lines(measured)


def test_every_worker_has_a_learner_and_a_seed_of_its_own_also_next_to_other_seeds() -> None:
    jobs = [job for seed in range(3) for job in jobs_of("http://x", Load("clicks-farm", 1.0, workers=8, seed=seed))]
    assert len({job.seed for job in jobs}) == len({job.learner for job in jobs}) == 24


def test_sessions_are_a_load_too_with_every_fault(live_server: Server) -> None:
    measured = put_on(str(live_server.http.base_url), Load("reader-faults", 2.0, rate=30.0, workers=2))
    [one, other] = measured.told
    assert measured.violations == []
    assert measured.failures == 0
    assert one.decisions == len(one.latencies_s) > 0
    assert other.rewards > 0


def test_more_rewards_than_a_call_may_hold_arrive_in_several(live_server: Server) -> None:
    measured = put_on(str(live_server.http.base_url), Load("clicks-late", 0.5, batch=900))
    assert measured.failures == 0
    assert measured.violations == []


def test_a_load_of_which_nothing_was_answered_says_why(live_server: Server) -> None:
    with pytest.raises(NoAnswerAtAll, match=r"failed, the first with: 422 .* length <= 1000"):
        put_on(str(live_server.http.base_url), Load("clicks-late", 0.2, batch=1_500))


def test_a_load_that_is_broken_off_leaves_no_learner_behind(live_server: Server) -> None:
    def learners() -> list[str]:
        items = live_server.http.get("/v1/learners").json()["items"]
        return [item["name"] for item in items if item["name"].startswith("load-clicks-farm")]

    def stop(seconds: float, usage: Usage | None) -> None:
        if learners():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put_on(str(live_server.http.base_url), Load("clicks-farm", 60.0, rate=5.0), progress=stop)
    assert learners() == []


def test_a_load_is_delivered_audited_and_reported(live_server: Server, tmp_path: Path) -> None:
    assert live_server.process is not None
    load = Load("clicks-late", 1.5, rate=60.0, workers=2, batch=5, dropped=0.1, arrivals="poisson")
    measured = put_on(str(live_server.http.base_url), load, live_server.process.pid)
    assert measured.violations == []
    assert measured.failures == 0
    assert sum(told.decisions for told in measured.told) == 5 * len(measured.latencies_ms())
    assert measured.service() is not None
    page = load_report.write(tmp_path, measured)
    assert page.read_text(encoding="utf-8").count("<svg") == 2
    assert "p99.9 ms" in load_report.lines(measured)[0]


def test_a_stall_is_charged_for_every_call_that_was_due_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for those that could not be sent: with room for one at a time, only one feels it from its sending."""
    monkeypatch.setattr(workers, "IN_FLIGHT_MAX", 1)
    load, scenario = Load("catalogue-clean", 4.0, rate=20.0), SCENARIOS["catalogue-clean"]
    with serving(fresh_url("sqlite", tmp_path)) as server:
        stall = threading.Thread(target=_stall, args=(server,))
        stall.start()
        told = asyncio.run(DecisionWorker(str(server.http.base_url), load, scenario, "load", seed=0).finish())
        stall.join()
    assert sum(latency > 0.25 for latency in told.latencies_s) >= 8
    assert told.violations == []


def _stall(server: Server) -> None:
    """Once the load has begun, the service stands still for a second."""
    assert server.process is not None
    while not any(learner["position"] for learner in server.http.get("/v1/learners").json()["items"]):
        time.sleep(0.02)
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    server.process.send_signal(signal.SIGCONT)


def test_the_ticker_tells_what_the_service_uses() -> None:
    out = io.StringIO()
    ticker = load_report.Ticker(Load("clicks-farm", 60.0), out)
    for seconds in (10.0, 20.0):
        ticker(seconds, Usage(seconds, 0.5 * seconds, 0.0, 100.0))
    assert out.getvalue().splitlines()[-1] == "20 s of about 60  service 50% of a core (50% wanted), 100 MiB"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("seconds", "end"), [(20.0, "\n"), (0.1, "")])
def test_what_follows_a_ticker_on_a_terminal_begins_a_new_line(seconds: float, end: str) -> None:
    out = _Terminal()
    with closing(load_report.Ticker(Load("clicks-farm", 60.0), out)) as ticker:
        ticker(seconds, None)
    assert out.getvalue()[-1:] == end


def test_a_network_remembers_only_its_last_requests() -> None:
    weather = Weather()
    for number in range(1_000):
        weather.next(httpx.Request("GET", f"http://holdfast.example/{number}"))
    assert weather.seen[Fault.NONE] == 1_000
    assert [len(weather.requests), weather.requests[-1].url.path] == [REMEMBERED, "/999"]


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_every_schedule_keeps_its_rate_and_its_order(arrivals: str) -> None:
    due = list(schedule(arrivals, 50.0, 20.0, seed=1))
    assert all(a < b for a, b in pairwise(due))
    assert len(due) == pytest.approx(1_000, rel=0.15)
    assert due == list(schedule(arrivals, 50.0, 20.0, seed=1))


def test_a_burst_leaves_the_rest_of_each_second_quiet() -> None:
    assert max(due % 1.0 for due in schedule("burst", 50.0, 5.0, seed=0)) < 0.25


def test_the_post_loses_repeats_delays_and_reorders_as_it_is_told() -> None:
    post = Post(Traffic(delay=2.0, missing=0.1, duplicate=0.2, reordered=0.5), seed=3)
    for number in range(1_000):
        post.take({"decision_id": str(number), "value": 1.0}, number)
    at_once = [int(claim["decision_id"]) for claim in post.arrived(999)]
    later = post.arrived(None)
    assert post.missing == pytest.approx(100, abs=40)
    assert len(at_once) + len(later) == pytest.approx(900 * 1.2, abs=60)
    assert at_once != sorted(at_once)
    assert later


def test_what_becomes_of_rewards_on_their_way_is_drawn_from_the_seed() -> None:
    posts = [Post[int](Traffic(missing=0.3, duplicate=0.3), seed) for seed in (3, 3, 4)]
    for number in range(100):
        for post in posts:
            post.take(number, 0)
    first, again, other = (post.arrived(None) for post in posts)
    assert first == again != other


def test_rewards_are_late_by_as_many_calls_as_the_mean_says() -> None:
    post, waited = Post[int](Traffic(delay=3.0), seed=1), []
    for now in range(4_000):
        post.take(now, now)
        waited += [now - sent for sent in post.arrived(now)]
    assert np.mean(waited) == pytest.approx(3.0, rel=0.1)


def test_a_post_without_faults_hands_over_at_once_and_in_order() -> None:
    post = Post(Traffic(), seed=0)
    for number in range(50):
        post.take({"decision_id": str(number), "value": 1.0}, 0)
    assert [int(claim["decision_id"]) for claim in post.arrived(0)] == list(range(50))


def test_a_soak_is_fine_only_if_latency_memory_and_auditor_are() -> None:
    steady = _measured(0.5, 0.2)
    assert Soaked(100.0, steady).is_fine()
    slower = _measured(0.5, 0.2, [0.01] * 90 + [0.05] * 10)
    assert not Soaked(100.0, slower).is_fine()
    hiccup = _measured(0.5, 0.2, [0.01] * 50 + [0.05] * 10 + [0.01] * 40)
    assert not Soaked(100.0, hiccup).is_fine()
    broken = _measured(0.5, 0.2)
    broken.told[0].violations = [Violation("lost", "reward of d-1")]
    assert not Soaked(100.0, broken).is_fine()
    refused = _measured(0.5, 0.2)
    refused.told[0].failures = 1
    assert not Soaked(100.0, refused).is_fine()
    steady.samples = [Usage(float(at), 0.5 * at, 0.0, 100.0 + 10.0 * at) for at in range(11)]
    assert not Soaked(100.0, steady).is_fine()
