"""uvicorn writes the head of an answer and its body apart: two system calls, two packets. Here they leave as one."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD = b"HTTP/1.1 "


class OneWriteProtocol(HttpToolsProtocol):
    """What `serve` gives to uvicorn."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Joining(transport, self.loop))  # type: ignore[arg-type]

    def on_body(self, body: bytes) -> None:
        """A body that comes in one piece is taken as it is; uvicorn gathers the pieces, and copies them twice."""
        cycle = self.cycle
        if not cycle.body:
            cycle.body, body = body, b""  # type: ignore[assignment]
        elif isinstance(cycle.body, bytes):
            cycle.body = bytearray(cycle.body)
        super().on_body(body)


class Joining:
    """A transport that keeps a head until its body comes, and no longer than this turn of the event loop."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head = b""
        self.is_closing = transport.is_closing  # asked for with every answer

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
