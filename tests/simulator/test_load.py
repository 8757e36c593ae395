"""Load tells the truth about latency and about who was slow. How fast anything is, is not asserted here."""

import io
import signal
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from holdfast_client.simulator import load_report
from holdfast_client.simulator.load import Load, Measured, Told, put_on
from holdfast_client.simulator.processes import Busy, Usage
from holdfast_client.simulator.soak import Soaked
from holdfast_client.simulator.traffic import ARRIVALS, Post, Traffic, schedule
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
    [(0.97, 0.5, "the service is the bottleneck"), (0.3, 0.97, "THE SIMULATOR IS"), (0.3, 0.3, "neither")],
)
def test_the_report_says_who_was_the_bottleneck(service: float, worker: float, said: str) -> None:
    assert _measured(service, worker).verdict().startswith(said)


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


def test_a_stall_is_charged_for_every_call_that_was_due_in_it(tmp_path: Path) -> None:
    """A caller that waited for its answer before it asked again would have felt it once."""
    with serving(fresh_url("sqlite", tmp_path)) as server:
        stall = threading.Thread(target=_stall, args=(server,))
        stall.start()
        measured = put_on(str(server.http.base_url), Load("catalogue-clean", 4.0, rate=20.0))
        stall.join()
    assert (measured.latencies_ms() > 250.0).sum() >= 8
    assert measured.violations == []


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
    steady.samples = [Usage(float(at), 0.5 * at, 0.0, 100.0 + 10.0 * at) for at in range(11)]
    assert not Soaked(100.0, steady).is_fine()
