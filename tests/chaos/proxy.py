"""A way to a PostgreSQL's socket over TCP that can be cut or fall silent while both ends are well."""

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

CHUNK = 65_536
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset


class Proxy:
    """Listens on a port of its own; a thread for each direction of each connection."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._open: set[socket.socket] = set()
        self._changing = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def reset(self) -> None:
        """Every connection, to both ends."""
        with self._changing:
            ends, self._open = self._open, set()
        for end in ends:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def fall_silent(self) -> None:
        """What the server says does not arrive; what it is told does, commits too."""
        self._flows.clear()

    def go_on(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self._listener.close()
        self.go_on()
        self.reset()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                caller, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self._target))
                except OSError:
                    caller.close()
                    server.close()
                    continue
                with self._changing:
                    self._open |= {caller, server}
                threading.Thread(target=self._carry, args=(caller, server, None), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, caller, self._flows), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, flows: threading.Event | None) -> None:
        with suppress(OSError):
            while said := source.recv(CHUNK):
                if flows is not None:
                    flows.wait()
                sink.sendall(said)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
