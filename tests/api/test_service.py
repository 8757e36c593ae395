"""A learner's description as it was a moment ago: read again, unless the writer has just seen that it is the same."""

import asyncio
import math
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.api import service as module
from holdfast.api.access import Gate
from holdfast.api.service import Service
from holdfast.errors import HoldfastError, InvalidInput, NotFound, Unavailable
from holdfast.store import learners
from holdfast.store.database import Database
from tests.hosting.harness import Clock, Driver, driving

LONG_S = 600.0

on_postgresql = pytest.mark.parametrize("url", ["postgresql"], indirect=True)  # which other processes may write to
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


@pytest.fixture
def driver(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(module, "REMEMBERED_S", LONG_S)
    with driving(database, Clock()) as driver:
        driver.create()
        yield driver


@pytest.fixture
def service(driver: Driver) -> Service:
    service = Service(driver.database, driver.host, Gate(driver.database, b"", True))
    asyncio.run(service.blueprint("home"))
    return service


def counted_looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which descriptions are read from now on."""
    read, reads = Service._spec, []

    def counted(self: Service, name: str) -> str:
        reads.append(name)
        return read(self, name)

    monkeypatch.setattr(Service, "_spec", counted)
    return reads


def reads_when_asked_later(service: Service, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the description is read for the next two who ask after the time for which it is remembered."""
    reads = counted_looks(monkeypatch)
    _, spec, blueprint = service._known["home"]
    service._known["home"] = (-math.inf, spec, blueprint)
    for _ in range(2):
        asyncio.run(service.blueprint("home"))
    return len(reads)


def test_it_is_read_again_where_the_writer_has_had_nothing_to_do(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reads_when_asked_later(service, monkeypatch) == 1


def test_it_is_not_read_again_where_the_writer_has_just_worked_with_it(
    service: Service, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.decide("d1")
    assert reads_when_asked_later(service, monkeypatch) == 0


def test_it_is_read_again_where_the_writer_worked_with_it_long_ago(
    service: Service, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.decide("d1")
    monkeypatch.setattr(module, "REMEMBERED_S", 0.0)
    assert reads_when_asked_later(service, monkeypatch) == 2


def test_it_is_read_again_where_the_writer_knows_another(
    service: Service, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = asyncio.run(service.blueprint("home"))
    driver.recreate(features={"kind": "dense", "action": 4, "joint": "action"})
    driver.peek()
    assert reads_when_asked_later(service, monkeypatch) == 1
    assert asyncio.run(service.blueprint("home")).encoder != before.encoder


def test_a_learner_that_the_writer_has_found_to_be_gone_is_not_confirmed(
    service: Service, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.decide("d1")
    with driver.database.write() as connection:
        row = learners.find(connection, "home")
        assert row is not None
        learners.remove(connection, row.id)
    with pytest.raises(NotFound):
        driver.decide("d2")
    with pytest.raises(NotFound):
        reads_when_asked_later(service, monkeypatch)


REFUSED = InvalidInput("/context", "must have exactly 3 numbers")


def reconsidered_later(service: Service) -> HoldfastError:
    """When the description has not been looked at for a while."""
    _, spec, blueprint = service._known["home"]
    service._known["home"] = (-math.inf, spec, blueprint)
    return asyncio.run(service.reconsidered("home", REFUSED))


def test_what_is_wrong_for_a_learner_that_is_still_the_same_is_refused(service: Service) -> None:
    assert reconsidered_later(service) is REFUSED


@on_postgresql
def test_what_was_wrong_for_a_learner_that_another_has_replaced_may_be_asked_again(
    service: Service, driver: Driver
) -> None:
    driver.recreate(features={"kind": "dense", "action": 4, "joint": "action"})
    assert isinstance(reconsidered_later(service), Unavailable)
    assert asyncio.run(service.blueprint("home")).encoder.dimension == 4
    assert reconsidered_later(service) is REFUSED


@on_postgresql
def test_it_may_also_be_asked_again_where_it_was_looked_at_a_moment_ago(service: Service, driver: Driver) -> None:
    asyncio.run(service._refresh("home"))
    driver.recreate(features={"kind": "dense", "action": 4, "joint": "action"})
    assert isinstance(asyncio.run(service.reconsidered("home", REFUSED)), Unavailable)


@on_postgresql
def test_many_who_are_refused_at_once_look_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = counted_looks(monkeypatch)

    async def many() -> list[HoldfastError]:
        await service._refresh("home")
        return await asyncio.gather(*(service.reconsidered("home", REFUSED) for _ in range(100)))

    assert set(asyncio.run(many())) == {REFUSED}
    assert len(looks) == 2


@on_postgresql
def test_who_is_refused_while_another_looks_is_not_told_what_that_one_saw(
    service: Service, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been there before the learner was replaced."""
    refresh, saw, goes_on = Service._refresh, asyncio.Event(), asyncio.Event()

    async def slow(self: Service, name: str) -> Any:
        blueprint = await refresh(self, name)
        saw.set()
        await goes_on.wait()
        return blueprint

    async def two() -> tuple[HoldfastError, HoldfastError]:
        first = asyncio.create_task(service.reconsidered("home", REFUSED))
        await saw.wait()
        await asyncio.to_thread(driver.recreate, features={"kind": "dense", "action": 4, "joint": "action"})
        second = asyncio.create_task(service.reconsidered("home", REFUSED))
        await asyncio.sleep(0)
        goes_on.set()
        return await first, await second

    monkeypatch.setattr(Service, "_refresh", slow)
    first, second = asyncio.run(two())
    assert first is REFUSED
    assert isinstance(second, Unavailable)


@on_sqlite
def test_where_nobody_else_can_have_replaced_it_nobody_looks(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = counted_looks(monkeypatch)
    assert reconsidered_later(service) is REFUSED
    assert looks == []


@on_postgresql
def test_what_was_wrong_for_a_learner_that_is_gone_is_not_found(service: Service, driver: Driver) -> None:
    with driver.database.write() as connection:
        row = learners.find(connection, "home")
        assert row is not None
        learners.remove(connection, row.id)
    assert isinstance(reconsidered_later(service), NotFound)
