"""What uvicorn writes in pieces leaves in one, in the same order, and nothing stays behind."""

import asyncio
from collections.abc import Callable

import pytest

from holdfast.api.one_write import Joining

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Wire(asyncio.Transport):
    """What left, write by write."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.written.append(data)

    def close(self) -> None:
        self.written.append(b"closed")


def left(say: Callable[[Joining], None]) -> list[bytes]:
    """What left by the end of the turn of the loop after this was said."""

    async def turn() -> list[bytes]:
        wire = Wire()
        say(Joining(wire, asyncio.get_running_loop()))
        await asyncio.sleep(0)
        return wire.written

    return asyncio.run(turn())


def told(*pieces: bytes) -> Callable[[Joining], None]:
    return lambda joining: [joining.write(piece) for piece in pieces][-1]


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        ([HEAD, b"body"], [HEAD + b"body"]),
        ([HEAD, b"one", b"two"], [HEAD + b"one", b"two"]),
        ([HEAD], [HEAD]),
        ([HEAD, b"one", HEAD, b"two"], [HEAD + b"one", HEAD + b"two"]),
        ([HEAD, HEAD, b"two"], [HEAD + HEAD, b"two"]),
        ([b"HTTP/1.1 100 Continue\r\n\r\n"], [b"HTTP/1.1 100 Continue\r\n\r\n"]),
    ],
)
def test_a_head_leaves_with_what_follows_it_or_at_the_end_of_the_turn(
    pieces: list[bytes], written: list[bytes]
) -> None:
    assert left(told(*pieces)) == written


def test_a_head_leaves_before_the_connection_is_closed() -> None:
    def say(joining: Joining) -> None:
        joining.write(HEAD)
        joining.close()

    assert left(say) == [HEAD, b"closed"]
