"""A soak: half of what the service can do, for a long time, with late, lost, repeated rewards and a bad network."""

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from holdfast_client.simulator.load import Measured, put_on
from holdfast_client.simulator.load_report import Ticker
from holdfast_client.simulator.local import Service
from holdfast_client.simulator.workers import Load

SCENARIO = "clicks-sleepers"  # rewards late, missing, twice and out of order, and somebody lies
DROPPED = 0.02  # of requests: broken connections, lost answers, refusals
CAPACITY_S = 6.0
SHARE = 0.5
WINDOWS = 10
MEMORY_GROWTH_MAX = 1.1
LATENCY_GROWTH_MAX = 2.0


@dataclass(frozen=True)
class Soaked:
    """What the service could do, and how it held half of that."""

    capacity: float
    measured: Measured

    def p99_ms(self) -> list[float]:
        """Of every tenth of the run: minutes, if it takes ten."""
        length = self.measured.load.duration_s / WINDOWS
        parts = [self.measured.latencies_ms(w * length, (w + 1) * length) for w in range(WINDOWS)]
        return [float(np.quantile(part, 0.99)) for part in parts if len(part)]

    def memory_mib(self) -> tuple[float, float] | None:
        """At the end of the first tenth, and the most in the last one."""
        memory = [sample.memory_mib for sample in self.measured.during() if sample.memory_mib]
        tenth = len(memory) // WINDOWS
        return (memory[tenth], max(memory[-tenth - 1 :])) if memory else None

    def verdicts(self) -> dict[str, bool]:
        p99, memory = self.p99_ms(), self.memory_mib()
        said = {f"violations: {len(self.measured.violations)}": not self.measured.violations}
        said[f"calls that failed: {self.measured.failures}"] = not self.measured.failures
        grown = max(p99) / p99[0]
        told = " ".join(f"{one:.0f}" for one in p99)
        said[f"p99 of each tenth, ms: {told}: at most ×{grown:.2f} of the first"] = grown <= LATENCY_GROWTH_MAX
        if memory is not None:
            growth = memory[1] / memory[0]
            said[f"memory: {memory[0]:.0f} MiB, then {memory[1]:.0f}: ×{growth:.2f}"] = growth <= MEMORY_GROWTH_MAX
        else:
            said["memory: not seen, since the service was not started here"] = True
        return said

    def lines(self) -> list[str]:
        what = f"Capacity {self.capacity:,.0f} decisions per second, each with its reward; held at {SHARE:.0%} of it:"
        return [what, *(f"{said} ({'yes' if fine else 'NO'})" for said, fine in self.verdicts().items())]

    def is_fine(self) -> bool:
        return all(self.verdicts().values())


def soak(service: Service, duration_s: float, workers: int, batch: int, seed: int) -> Soaked:
    """Measure, then hold."""
    most = Load(SCENARIO, min(CAPACITY_S, duration_s), None, workers, batch, seed, dropped=0.0)
    capacity = put_on(service.url, most, service.pid).rate
    held = Load(SCENARIO, duration_s, SHARE * capacity, workers, batch, seed + 1, "poisson", DROPPED)
    with closing(Ticker(held)) as ticker:
        return Soaked(capacity, put_on(service.url, held, service.pid, ticker))
