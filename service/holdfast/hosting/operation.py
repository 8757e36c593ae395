"""A use case, as the writer runs it: the operations of one batch that do the same are performed together."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from holdfast.errors import Conflict, HoldfastError
from holdfast.hosting.live import LiveLearner
from holdfast.store.log import Transaction

T = TypeVar("T")


class Needs(NamedTuple):
    """What is looked up for a whole batch at once."""

    events: Sequence[str] = ()
    answers: Sequence[tuple[str, str]] = ()  # to earlier requests, by scope and Idempotency-Key
    said: Sequence[str] = ()  # event ids: what was said of these


NOTHING = Needs()


class Operation(Protocol):
    """What it needs looked up, and what it does to the learner inside the transaction."""

    acts_on: ClassVar[type]

    @property
    def learner(self) -> str: ...
    @property
    def size(self) -> int:
        """How many things of its kind it asks for."""

    @property
    def bytes_held(self) -> int:
        """While it waits, by features or a state."""

    def needs(self, live: LiveLearner) -> Needs: ...
    @classmethod
    def perform_all(cls, operations: Sequence[Any], live: Any, transaction: Transaction, now: int) -> list[Any]:
        """The answer of each, in order; a refusal is the answer of the one that was refused."""


class OneByOne(ABC):
    """Operations that gain nothing from being done together."""

    acts_on: ClassVar[type] = LiveLearner

    @property
    def size(self) -> int:
        return 1

    @property
    def bytes_held(self) -> int:
        return 0

    def needs(self, live: LiveLearner) -> Needs:
        return NOTHING

    @abstractmethod
    def perform(self, live: Any, transaction: Transaction, now: int) -> Any:
        """The answer; a `HoldfastError` refuses this one alone."""

    @classmethod
    def perform_all(
        cls, operations: Sequence[Self], live: LiveLearner, transaction: Transaction, now: int
    ) -> list[Any]:
        return [_attempt(operation, live, transaction, now) for operation in operations]


def perform_alike(operations: Sequence[Operation], live: LiveLearner, transaction: Transaction, now: int) -> list[Any]:
    """Operations of one type, by a learner that may be of another kind than they are for."""
    alike = type(operations[0])
    if not isinstance(live, alike.acts_on):
        refused = Conflict("other-kind", f"a learner of kind {live.kind} does not take this")
        return [refused] * len(operations)
    return alike.perform_all(operations, live, transaction, now)


def _attempt(operation: OneByOne, live: LiveLearner, transaction: Transaction, now: int) -> Any:
    try:
        return operation.perform(live, transaction, now)
    except HoldfastError as problem:
        return problem


def runs_of_strangers(items: Iterable[T], names: Callable[[T], Collection[str]]) -> Iterator[list[T]]:
    """Cut a sequence so that no two items of a run have a name in common: the later must see what the earlier did."""
    run: list[T] = []
    taken: set[str] = set()
    for item in items:
        mine = names(item)
        if run and not taken.isdisjoint(mine):
            yield run
            run, taken = [], set()
        run.append(item)
        taken.update(mine)
    if run:
        yield run
