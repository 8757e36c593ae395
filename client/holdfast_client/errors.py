"""Everything the SDK raises on purpose.

HoldfastError                 with `request_id`, the name of the request in the server's log, if there was an answer
├── ConfigurationError        no usable address or key; nothing was sent
├── Unsendable                a body that JSON has no words for, such as NaN; nothing was sent
├── NoAnswer                  nobody answered: refused, reset, unreachable
│   └── TimedOut              nobody answered in time
├── UnexpectedAnswer          an answer that is not Holdfast's: a proxy's page, a document without its fields
├── UndeliveredRewards        a background queue was closed before the server took everything
└── Refused                   the server's answer is a problem: `status`, `type`, `title`, `detail`, `errors`
    ├── Unauthorised          401: no key, or one nobody knows
    ├── Forbidden             403: a good key of the wrong role
    ├── NotFound              404: no such learner, decision or episode that this key may see
    ├── Conflict              409: the same id with another content, a paused learner, an episode that is over
    ├── TooLarge              413: more than a request may hold
    ├── InvalidRequest        400, 422: `errors` says where and which rule
    ├── RateLimited           429: `retry_after_s` says when
    └── ServerError           5xx: not this request's fault
        └── Unavailable       503: recovering, overloaded, or the database is away; `retry_after_s` says when

All of them survive pickling, so that a task queue can carry them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Flaw:
    """One broken rule: a JSON pointer to the place in the request, and the rule."""

    pointer: str
    detail: str


@dataclass(frozen=True)
class Problem:
    """An RFC 9457 problem document; `type` is a stable word to branch on."""

    status: int
    type: str
    title: str
    detail: str
    errors: tuple[Flaw, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class HoldfastError(Exception):
    """The root of every deliberate error."""

    request_id: str | None = None


class ConfigurationError(HoldfastError):
    """The client cannot be used as it was set up."""


class Unsendable(HoldfastError, ValueError):
    """The body cannot be written as JSON; it says where."""


class NoAnswer(HoldfastError):
    """No answer came. `nothing_sent` is true if the server cannot have seen the request."""

    def __init__(self, what: str, nothing_sent: bool = False) -> None:
        super().__init__(what, nothing_sent)
        self.nothing_sent = nothing_sent

    def __str__(self) -> str:
        return str(self.args[0])


class TimedOut(NoAnswer):
    """No answer came in time; what was asked may still be done, and asking again under the same id is safe."""


class UnexpectedAnswer(HoldfastError):
    """An answer came, but not one of Holdfast's."""

    def __init__(self, what: str, status: int, request_id: str | None = None) -> None:
        super().__init__(what, status, request_id)
        self.status = status
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.args[0]} (status {self.status})"


class UndeliveredRewards(HoldfastError):
    """A queue was closed with `count` rewards that the server has not acknowledged."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count

    def __str__(self) -> str:
        return f"{self.count} rewards were not acknowledged before the queue was closed"


class Refused(HoldfastError):
    """The server says no. The request changed nothing."""

    def __init__(self, problem: Problem, request_id: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(problem, request_id, retry_after_s)
        self.problem = problem
        self.request_id = request_id
        self.retry_after_s = retry_after_s

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def type(self) -> str:
        return self.problem.type

    @property
    def title(self) -> str:
        return self.problem.title

    @property
    def detail(self) -> str:
        return self.problem.detail

    @property
    def errors(self) -> tuple[Flaw, ...]:
        return self.problem.errors

    def __str__(self) -> str:
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status} {self.type}: {self.detail}{request}"


class Unauthorised(Refused):
    """No key was sent, or one that nobody knows."""


class Forbidden(Refused):
    """The key is good, but its role does not allow this."""


class NotFound(Refused):
    """There is no such thing, or none that this key may see."""


class Conflict(Refused):
    """It cannot be done as things are; `type` says why."""


class TooLarge(Refused):
    """The request holds more than any request may."""


class InvalidRequest(Refused):
    """The request breaks a rule; `errors` has each one with its place."""


class RateLimited(Refused):
    """Too many requests; `retry_after_s` says when there may be more."""


class ServerError(Refused):
    """The server failed; the request may be as good as any."""


class Unavailable(ServerError):
    """Not now; `retry_after_s` says when to ask again."""


_BY_STATUS: dict[int, type[Refused]] = {
    400: InvalidRequest,
    401: Unauthorised,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: InvalidRequest,
    429: RateLimited,
    503: Unavailable,
}


def refusal(status: int) -> type[Refused]:
    """The class of error for a status.

    >>> refusal(422).__name__, refusal(502).__name__, refusal(418).__name__
    ('InvalidRequest', 'ServerError', 'Refused')
    """
    return _BY_STATUS.get(status, ServerError if status >= 500 else Refused)
