"""Everything Holdfast raises on purpose.

HoldfastError
├── InvalidInput            what a caller sent breaks a rule; says where and which
├── InvalidConfiguration    a learner cannot be built from this description
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
        super().__init__(f"{pointer or '/'}: {rule}")
        self.pointer = pointer
        self.rule = rule


class InvalidConfiguration(HoldfastError):
    """A learner cannot be built as described."""


class UnusableState(HoldfastError):
    """These bytes cannot become the state of this learner."""


class DamagedState(UnusableState):
    """The bytes are truncated, altered, or no state file at all."""


class UnknownVersion(UnusableState):
    """The file was written in a format version this code does not read."""


class MismatchedState(UnusableState):
    """The file is intact but belongs to a learner of another shape."""
