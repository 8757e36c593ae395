"""Everything Holdfast raises on purpose.

HoldfastError
├── InvalidInput            what a caller sent breaks a rule; says where and which
├── InvalidConfiguration    a learner or a setting cannot be as described
├── NotFound                no such learner, decision or key that this caller may see
├── Conflict                the same id with another content, or a learner that must not change now
├── Unavailable             the database is away or the queue is full; nothing was done, try again
├── TooMany                 the key has asked for more than its share; nothing was done, try again later
├── Unauthorised            no key, or one nobody knows
├── Forbidden               a good key of the wrong role
├── TooLarge                more than a request may hold
├── NotYet                  promised, but not implemented
├── StoreInUse              another process holds this SQLite file
└── UnusableState           bytes that are not a state this learner can take
    ├── DamagedState        truncated, altered or not a state file at all
    ├── UnknownVersion      written by a version of the format this code does not know
    └── MismatchedState     a good file, but of a learner of another shape
"""


class HoldfastError(Exception):
    """The root of every deliberate error."""


class InvalidInput(HoldfastError):
    """A value from a caller breaks a rule. `pointer` is a JSON pointer to the place; the value is never echoed."""

    def __init__(self, pointer: str, rule: str) -> None:
        super().__init__(f"{pointer}: {rule}" if pointer else rule)
        self.pointer = pointer
        self.rule = rule

    def within(self, place: str) -> "InvalidInput":
        """The same, told of a part of something larger."""
        return InvalidInput(place + self.pointer, self.rule)


class InvalidConfiguration(HoldfastError):
    """A learner or a setting cannot be as described."""


class NotFound(HoldfastError):
    """No such thing, or none that this caller may see. `slug` says which kind."""

    def __init__(self, slug: str, detail: str) -> None:
        super().__init__(detail)
        self.slug = slug


class Conflict(HoldfastError):
    """It cannot be done as things are. `slug` says why, `pointer` which part of the request is meant, if one is."""

    def __init__(self, slug: str, detail: str, pointer: str | None = None) -> None:
        super().__init__(detail)
        self.slug = slug
        self.pointer = pointer


class Unavailable(HoldfastError):
    """Not now: nothing was acknowledged, and the same request may be sent again after `retry_after_s`."""

    def __init__(self, detail: str, retry_after_s: int = 1) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class TooMany(HoldfastError):
    """The caller's share is spent: nothing was done, and the same request may be sent again after `retry_after_s`."""

    def __init__(self, detail: str, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Unauthorised(HoldfastError):
    """No key was sent, or one that nobody knows."""


class Forbidden(HoldfastError):
    """The key is good, but its role does not allow this."""


class TooLarge(HoldfastError):
    """The request holds more than any request may."""


class NotYet(HoldfastError):
    """The contract promises this; the code does not do it yet."""


class StoreInUse(HoldfastError):
    """Another process serves this database file already."""


class UnusableState(HoldfastError):
    """These bytes cannot become the state of this learner."""


class DamagedState(UnusableState):
    """The bytes are truncated, altered, or no state file at all."""


class UnknownVersion(UnusableState):
    """The file was written in a format version this code does not read."""


class MismatchedState(UnusableState):
    """The file is intact but belongs to a learner of another shape."""
