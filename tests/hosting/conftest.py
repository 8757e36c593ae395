"""A host with one learner, `home`, and the clock it goes by."""

from collections.abc import Iterator

import pytest

from holdfast.store.database import Database
from tests.hosting.harness import Clock, Driver, driving


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(database: Database, clock: Clock) -> Iterator[Driver]:
    with driving(database, clock) as driver:
        driver.create()
        yield driver
