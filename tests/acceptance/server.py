"""A real `holdfast serve` in a process of its own, on a real database."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy.engine import URL

ROOT = Path(__file__).parent.parent.parent
READY_WITHIN_S = 20.0
STOP_WITHIN_S = 10.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """Start it, talk to it, stop or kill it, start it again on the same database."""

    def __init__(self, url: URL, auth: str = "off", prelude: str = "") -> None:
        """`prelude` is Python that the process runs before it serves."""
        self.command = [sys.executable, "-c", f"{prelude}\nfrom holdfast.cli import app; app()", "serve"]
        self.port = free_port()
        self.environment = os.environ | {
            "HOLDFAST_DATABASE_URL": url.render_as_string(hide_password=False),
            "HOLDFAST_AUTH": auth,
            "HOLDFAST_PORT": str(self.port),
        }
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=20)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed when the process has ended
        self.process = subprocess.Popen(
            self.command, env=self.environment, cwd=ROOT, stdout=self.output, stderr=subprocess.STDOUT
        )
        return self.wait_until_ready()

    def wait_until_ready(self) -> "Server":
        assert self.process is not None
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            try:
                if self.http.get("/health/ready").status_code == 200:
                    return self
            except httpx.TransportError:
                assert self.process.poll() is None, self.said()
            time.sleep(0.05)
        raise AssertionError("the server did not become ready")

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(STOP_WITHIN_S)
        self.output.close()
        return code

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_WITHIN_S)
        self.output.close()

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return self.http.post(path, json=body, headers=headers)

    def close(self) -> None:
        self.http.close()
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.output.close()

    def said(self) -> str:
        """What it has printed so far."""
        self.output.seek(0)
        return self.output.read()


@contextmanager
def serving(url: URL, auth: str = "off", prelude: str = "") -> Iterator[Server]:
    server = Server(url, auth, prelude)
    try:
        yield server.start()
    finally:
        server.close()
