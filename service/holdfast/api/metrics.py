"""Metrics for Prometheus, made when they are asked for from numbers that were cheap to keep.

Labels are bounded: route templates, status classes, outcomes; never the name of a learner, a key or a caller.
"""

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from starlette.types import Scope

from holdfast.hosting.host import Host
from holdfast.hosting.meter import SECONDS, Histogram

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
OTHER = "other"  # a path that is no route, a method that is none of these
TEMPLATE = "holdfast.template"  # where a hot route leaves its own


class Traffic:
    """The requests answered so far, counted by the event loop alone."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str, int], int] = {}
        self.seconds: dict[str, Histogram] = {}

    def saw(self, scope: Scope, status: int, seconds: float) -> None:
        route: str = scope[TEMPLATE] if TEMPLATE in scope else getattr(scope.get("route"), "path", OTHER)
        method = scope["method"] if scope["method"] in METHODS else OTHER
        key = (route, method, status)
        self.answers[key] = self.answers.get(key, 0) + 1
        histogram = self.seconds.get(route)
        if histogram is None:
            histogram = self.seconds[route] = Histogram(SECONDS)
        histogram.observe(seconds)


class Metrics:
    """Everything that `/metrics` tells of Holdfast itself."""

    def __init__(self, traffic: Traffic, host: Host) -> None:
        self._traffic = traffic
        self._host = host
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._of_the_traffic()
        yield from self._of_the_writer()

    def _of_the_traffic(self) -> Iterator[Metric]:
        answers = self._traffic.answers.copy()  # in one step: the event loop goes on counting
        by_class: dict[tuple[str, str, str], int] = {}
        for (route, method, status), count in answers.items():
            labels = (route, method, f"{status // 100}xx")
            by_class[labels] = by_class.get(labels, 0) + count
        requests = CounterMetricFamily("holdfast_requests", "Requests answered.", labels=["route", "method", "status"])
        for labels, count in by_class.items():
            requests.add_metric(labels, count)
        yield requests
        latency = HistogramMetricFamily(
            "holdfast_request_seconds", "From the request's head to the end of its answer.", labels=["route"]
        )
        for route, histogram in self._traffic.seconds.copy().items():
            latency.add_metric([route], *_buckets(histogram))
        yield latency
        for name, status, help_ in (
            ("holdfast_unavailable", 503, "Requests answered 503: the queue was full or the database away."),
            ("holdfast_rate_limited", 429, "Requests answered 429: the key's allowance was spent."),
        ):
            yield CounterMetricFamily(name, help_, sum(count for key, count in answers.items() if key[2] == status))

    def _of_the_writer(self) -> Iterator[Metric]:
        meter = self._host.meter
        for name, help_, value in (
            ("holdfast_decisions", "Decisions made and committed.", meter.decisions),
            ("holdfast_observations", "Observations learned from old logs.", meter.observations),
            ("holdfast_expiries", "Decisions whose wait for a reward ended.", meter.expiries),
            ("holdfast_sweeps", "Searches for waits that have ended.", meter.sweeps),
            ("holdfast_commit_failures", "Transactions that were not committed.", meter.commit_failures),
            ("holdfast_snapshots_written", "Snapshots written.", meter.snapshots),
            ("holdfast_snapshots_written_bytes", "Bytes of the snapshots written.", meter.snapshot_bytes),
            (
                "holdfast_snapshots_skipped",
                "Snapshots that could not be used.",
                meter.warnings["snapshot skipped"],
            ),
        ):
            yield CounterMetricFamily(name, help_, value)
        rewards = CounterMetricFamily("holdfast_rewards", "Rewards by what became of them.", labels=["outcome"])
        for outcome, count in meter.rewards.items():
            rewards.add_metric([outcome], count)
        yield rewards
        warnings = CounterMetricFamily("holdfast_warnings", "Warnings of the writer.", labels=["warning"])
        for warning, count in meter.warnings.copy().items():
            warnings.add_metric([warning], count)
        yield warnings
        for name, help_, histogram in (
            ("holdfast_batch_operations", "Operations committed in one transaction.", meter.batch_sizes),
            ("holdfast_batch_seconds", "From the begin to the commit of a transaction.", meter.batch_seconds),
        ):
            family = HistogramMetricFamily(name, help_)
            family.add_metric([], *_buckets(histogram))
            yield family
        yield GaugeMetricFamily(
            "holdfast_queue_operations", "Operations that wait for the writer.", self._host.queued()
        )
        yield GaugeMetricFamily("holdfast_live_learners", "Learners in memory.", self._host.live_learners())


def _buckets(histogram: Histogram) -> tuple[list[tuple[str, float]], float]:
    """Cumulative, as Prometheus wants them."""
    bounds = [*(str(float(bound)) for bound in histogram.bounds), "+Inf"]
    return list(zip(bounds, map(float, accumulate(histogram.counts.copy())), strict=True)), histogram.total
