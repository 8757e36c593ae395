"""What a load test says: rates, latencies from when calls were due, who was the bottleneck, and what was broken."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from holdfast_client.simulator import report
from holdfast_client.simulator.auditor import VIOLATIONS_SHOWN_MAX
from holdfast_client.simulator.load import Measured
from holdfast_client.simulator.pictures import Line, curves, histogram
from holdfast_client.simulator.processes import Usage, busy
from holdfast_client.simulator.workers import Load


@dataclass
class Ticker:
    """A line now and then while a load goes on: how long, and what the service uses."""

    load: Load
    out: TextIO = sys.stderr
    _last: tuple[float, Usage | None] = (0.0, None)

    def __call__(self, seconds: float, usage: Usage | None) -> None:
        then, before = self._last
        if seconds - then < (1.0 if self.out.isatty() else 10.0):
            return
        self._last = (seconds, usage)
        said = f"{seconds:.0f} s of about {self.load.duration_s:.0f}"
        if usage is not None and before is not None:
            said += f"  service {busy(before, usage)}, {usage.memory_mib:.0f} MiB"
        self.out.write(f"\r{said}\x1b[K" if self.out.isatty() else f"{said}\n")
        self.out.flush()

    def close(self) -> None:
        """What is said next begins a line of its own."""
        if self.out.isatty() and self._last[0]:
            self.out.write("\n")


def rows(measured: Measured) -> report.Rows:
    load, latencies = measured.load, measured.latencies_ms()
    asked = "as many as it takes" if load.rate is None else f"{load.rate:,.0f}"
    header = ["asked per s", "done per s", "calls", "batch", "workers", *(f"{name} ms" for name in report.QUANTILES)]
    quantiles = [f"{np.quantile(latencies, q):.1f}" for q in report.QUANTILES.values()]
    counts = [str(measured.failures), str(len(measured.violations))]
    told = [asked, f"{measured.rate:,.0f}", f"{len(latencies):,}", str(load.batch), str(load.workers)]
    return [[*header, "failures", "violations"], [*told, *quantiles, *counts]]


def lines(measured: Measured) -> list[str]:
    """The table, the verdict, and the first violations."""
    broken = [f"VIOLATION {kind}: {what}" for kind, what in measured.violations[:VIOLATIONS_SHOWN_MAX]]
    failed = [f"{measured.failures} calls failed, the first with: {measured.problem}"] if measured.failures else []
    return [report.table(rows(measured)), measured.verdict(), *failed, *broken]


def facts(measured: Measured) -> dict[str, Any]:
    """The load test as JSON."""
    load, latencies, service = measured.load, measured.latencies_ms(), measured.service()
    return {
        "scenario": load.scenario, "seed": load.seed, "duration_s": load.duration_s, "arrivals": load.arrivals,
        "asked_per_s": load.rate, "done_per_s": measured.rate, "batch": load.batch, "workers": load.workers,
        "latency_ms": {name: float(np.quantile(latencies, q)) for name, q in report.QUANTILES.items()},
        "service": None if service is None else service._asdict(), "worker": measured.worker()._asdict(),
        "verdict": measured.verdict(), "failures": measured.failures, "problem": measured.problem,
        "memory_mib": [sample.memory_mib for sample in measured.samples],
        "violations": [violation._asdict() for violation in measured.violations],
    }  # fmt: skip


def write(folder: Path, measured: Measured, notes: Sequence[str] = ()) -> Path:
    """The page; its place."""
    drawn = {"latency": histogram("Latency from when a call was due", measured.latencies_ms(), "ms")}
    if len(measured.samples) > 1:
        at = np.array([sample.at_s for sample in measured.samples])
        memory = Line("service", at - at[0], np.array([sample.memory_mib for sample in measured.samples]))
        drawn["memory"] = curves("Memory of the service", [memory], "seconds", "MiB")
    title = f"Load: {measured.load.scenario}"
    return report.write(folder, title, rows(measured), facts(measured), drawn, [measured.verdict(), *notes])
