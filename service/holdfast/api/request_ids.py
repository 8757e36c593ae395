"""A name for every request: the caller's own if it is a sane one, to lay their log beside ours."""

import secrets
from itertools import count

from starlette.types import Scope

HEADER = b"x-request-id"
LENGTH_MAX = 128

_REMEMBERED = "holdfast.request_id"
_process = secrets.token_hex(6).encode()  # no two processes give the same names
_numbers = count(1)


def request_id_of(scope: Scope) -> bytes:
    """The same bytes whenever it is asked: at most 128 printable ASCII characters."""
    known: bytes | None = scope.get(_REMEMBERED)
    if known is None:
        known = scope[_REMEMBERED] = _given(scope) or b"%b-%x" % (_process, next(_numbers))
    return known


def _given(scope: Scope) -> bytes | None:
    for name, value in scope["headers"]:
        if name == HEADER:
            return value if is_sane(value) else None
    return None


def is_sane(value: bytes) -> bool:
    r"""Whether it can go into a header and a log line as it is.

    >>> is_sane(b"7f3c-checkout"), is_sane(b""), is_sane(b"line\nbreak"), is_sane("é".encode()), is_sane(b"x" * 129)
    (True, False, False, False, False)
    """
    return 0 < len(value) <= LENGTH_MAX and value.isascii() and value.decode("ascii").isprintable()
