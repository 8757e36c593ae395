"""A service of the simulator's own: `holdfast serve` on loopback, in a process and a folder that go away with it."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast_client import Client, HoldfastError
from holdfast_client.simulator.settings import environment_of_own_service, service_url

READY_WITHIN_S = 30.0
STOP_WITHIN_S = 15.0
ANSWER_WITHIN_S = 5.0
SERVE = "from holdfast_client.cli import main; main()"


class CannotServe(Exception):
    """There is no service, and none can be started here."""


@dataclass(frozen=True)
class Service:
    """Where it is; its process, if it is ours."""

    url: str
    pid: int | None = None


@contextmanager
def at(url: str | None) -> Iterator[Service]:
    """The service that was named, or one of our own."""
    named = service_url(url)
    if named is not None:
        with Client(named, retries=1) as client:
            client.health(timeout=ANSWER_WITHIN_S)  # refused here at once; a run is patient
        yield Service(named)
        return
    with own_service() as service:
        yield service


@contextmanager
def own_service(program: str = SERVE) -> Iterator[Service]:
    """Started, waited for, and stopped; `program` is the Python that serves."""
    with tempfile.TemporaryDirectory(prefix="holdfast-simulate-") as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        words = [
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--database-url",
            f"sqlite:///{folder}/holdfast.db",
        ]
        with (Path(folder) / "said.txt").open("w+", encoding="utf-8") as said:
            process = subprocess.Popen(  # noqa: S603  # our own words
                [sys.executable, "-c", program, *words],
                env=environment_of_own_service(), stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                _wait(f"http://127.0.0.1:{port}", process, Path(said.name))
                yield Service(f"http://127.0.0.1:{port}", process.pid)
            finally:
                _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Gently, and then not."""
    process.terminate()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]", said: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    with Client(url, retries=0) as client:
        while time.monotonic() < deadline:
            try:
                if client.health(timeout=1.0).ready:
                    return
            except HoldfastError:
                if process.poll() is not None:
                    raise CannotServe(said.read_text(encoding="utf-8").strip()) from None
            time.sleep(0.05)
    raise CannotServe(f"the service did not become ready within {READY_WITHIN_S:.0f} s")
