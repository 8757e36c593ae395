"""A load generator on raw sockets, so that the server and not the client is what is measured. Loopback only."""

import asyncio
import gc
import time
from collections.abc import Iterator
from typing import NamedTuple

import uvloop


class Measured(NamedTuple):
    """Requests per second, latencies in ms at three quantiles, and how many answers were not of the wanted status."""

    rate: float
    p50: float
    p99: float
    errors: int


def request_bytes(path: str, body: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: bench", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def run(port: int, requests: Iterator[bytes], count: int, connections: int, rate: float | None = None) -> Measured:
    """Send `count` requests over that many connections; with `rate`, on a fixed schedule (open loop).

    Nobody looks for garbage meanwhile: in a process that has as much in memory as this one that takes long, and every
    call that was due would be late by our own doing.
    """
    gc.collect()
    gc.disable()
    try:
        return uvloop.run(_run(port, requests, count, connections, rate))
    finally:
        gc.enable()


async def _run(port: int, requests: Iterator[bytes], count: int, connections: int, rate: float | None) -> Measured:
    taken, latencies, errors = iter(range(count)), [], 0
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    started = time.perf_counter()

    async def work(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal errors
        for index in taken:
            due = started + index / rate if rate else time.perf_counter()
            if due > time.perf_counter():
                await asyncio.sleep(due - time.perf_counter())
            writer.write(next(requests))
            status = await _read_answer(reader)
            latencies.append(time.perf_counter() - due)
            errors += status >= 400
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(work(*connection) for connection in opened))
    elapsed = time.perf_counter() - started
    latencies.sort()
    p50, p99 = (latencies[int(q * (len(latencies) - 1))] * 1e3 for q in (0.5, 0.99))
    return Measured(count / elapsed, p50, p99, errors)


async def _read_answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    lower = head.lower()
    start = lower.index(b"content-length:") + 15
    length = int(lower[start : lower.index(b"\r\n", start)])
    await reader.readexactly(length)
    return status
