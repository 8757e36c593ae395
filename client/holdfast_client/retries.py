"""When to ask again, and for how long: pure arithmetic that both clients share.

A call has one deadline for all of its attempts and pauses. An attempt may take half of the time that is left, the last
one all of it, so that one lost packet does not use up the whole call.
"""

from dataclasses import dataclass, replace

from holdfast_client.errors import HoldfastError, NoAnswer, Refused, UnexpectedAnswer

ATTEMPT_TIMEOUT_S_MIN = 0.001
RETRIED_BELOW_500 = (408, 429)
NEVER_CHANGES = (501, 505)  # what a server does not know it will not know in a moment


@dataclass(frozen=True)
class Retries:
    """How often and how patiently to ask again.

    The pause before retry n is `first_pause_s` · 2ⁿ⁻¹, at most `pause_s_max`, shortened at random by up to a half; a
    `Retry-After` lengthens it, up to `retry_after_s_max`. A pause that would outlast the call's deadline is not begun.
    """

    most: int = 8
    first_pause_s: float = 0.1
    pause_s_max: float = 5.0
    retry_after_s_max: float = 30.0


def limited(policy: Retries, most: int | None) -> Retries:
    """The same patience with another number of retries, if one is given."""
    return policy if most is None else replace(policy, most=most)


def may_pass(failure: HoldfastError) -> bool:
    """Whether the same request might be answered a moment later.

    >>> may_pass(NoAnswer("connection refused"))
    True
    """
    if isinstance(failure, Refused):
        status = failure.status
        return status in RETRIED_BELOW_500 or (status >= 500 and status not in NEVER_CHANGES)
    if isinstance(failure, UnexpectedAnswer):
        return failure.status >= 500 and failure.status not in NEVER_CHANGES
    return isinstance(failure, NoAnswer)


def did_nothing(failure: HoldfastError) -> bool:
    """Whether the request cannot have had an effect."""
    if isinstance(failure, NoAnswer):
        return failure.nothing_sent
    return isinstance(failure, Refused) and failure.status == 429


@dataclass
class Course:
    """One call on its way: how many attempts were made, and what may still be done before the deadline."""

    policy: Retries
    deadline: float
    repeatable: bool = True  # otherwise only after failures that cannot have had an effect
    attempts: int = 0

    def begin_attempt(self, now: float) -> float:
        """Count one more attempt; how long it may take."""
        left = max(self.deadline - now, ATTEMPT_TIMEOUT_S_MIN)
        is_last = self.attempts >= self.policy.most
        self.attempts += 1
        return left if is_last else left / 2

    def pause_s(self, failure: HoldfastError, now: float, draw: float) -> float | None:
        """How long to wait before the next attempt, `draw` being uniform in [0, 1); None: there is none.

        >>> course = Course(Retries(most=1), deadline=10.0, attempts=1)
        >>> course.pause_s(NoAnswer("reset"), now=0.0, draw=0.0)
        0.1
        >>> course.attempts = 2
        >>> course.pause_s(NoAnswer("reset"), now=0.0, draw=0.0) is None
        True
        """
        if self.attempts > self.policy.most or not may_pass(failure):
            return None
        if not self.repeatable and not did_nothing(failure):
            return None
        pause = backoff_s(self.policy, self.attempts, draw)
        asked = failure.retry_after_s if isinstance(failure, Refused) else None
        if asked is not None:
            pause = max(pause, min(asked, self.policy.retry_after_s_max))
        return pause if now + pause < self.deadline else None


def backoff_s(policy: Retries, failed: int, draw: float) -> float:
    """The pause after so many failed attempts.

    >>> [backoff_s(Retries(), failed, 0.0) for failed in (1, 2, 3, 10)]
    [0.1, 0.2, 0.4, 5.0]
    """
    longest = min(policy.pause_s_max, policy.first_pause_s * 2.0 ** min(failed - 1, 60))
    return longest * (1.0 - 0.5 * draw)
