"""Each fault once, under load, on servers that are never restarted, and a broken build that must be noticed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.server import serving
from tests.chaos.disturbance import Disturbance, Outcome, disturbing
from tests.chaos.faults import DISK_FULL, LONG_STALL_S
from tests.chaos.mutants import MUTANTS_IN_TROUBLE
from tests.chaos.places import postgresql_in

SEED = 3
OF_SQLITE = ["no byte more", DISK_FULL]
OF_POSTGRESQL = [
    "stalled 3 s",
    "stalled 6 s",
    "answers withheld 6 s",
    "backends terminated",
    "connections reset",
    "stopped at once, started again",
    DISK_FULL,
]
AWAY = {"stalled 6 s", "answers withheld 6 s", "stopped at once, started again"}
ACKNOWLEDGED_MIN = 20  # fewer, and there was no load to speak of
CROWD = 200


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disturbance]:
    with disturbing("sqlite", tmp_path_factory.mktemp("sqlite"), SEED) as disturbance:
        yield disturbance


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disturbance]:
    with disturbing("postgresql", tmp_path_factory.mktemp("postgresql"), SEED) as disturbance:
        yield disturbance


def _outcome(disturbance: Disturbance, name: str) -> Outcome:
    """`bring` itself fails if the service does not come back, or if /health/live does not answer."""
    if name == DISK_FULL and name not in disturbance.troubles:
        pytest.skip("this user may not mount a file system to fill")
    return disturbance.bring(name)


def _demand_that_all_is_well(outcome: Outcome) -> None:
    assert outcome.faults == frozenset()
    assert outcome.acknowledged >= ACKNOWLEDGED_MIN
    assert outcome.unanswered == 0
    assert outcome.refused_wrongly == 0


@pytest.mark.parametrize("name", OF_SQLITE)
def test_sqlite_on_a_full_disk_refuses_loses_nothing_and_goes_on_by_itself(sqlite: Disturbance, name: str) -> None:
    outcome = _outcome(sqlite, name)
    _demand_that_all_is_well(outcome)
    assert outcome.refused > 0


@pytest.mark.parametrize("name", OF_POSTGRESQL)
def test_postgresql_in_trouble_loses_nothing_and_the_service_goes_on_by_itself(
    postgresql: Disturbance, name: str
) -> None:
    outcome = _outcome(postgresql, name)
    _demand_that_all_is_well(outcome)
    if name in AWAY:
        assert outcome.was_unready
    if name in AWAY or name == DISK_FULL:
        assert outcome.refused > 0


@pytest.mark.parametrize("mutant", MUTANTS_IN_TROUBLE)
def test_a_build_that_remembers_what_was_never_committed_is_caught(tmp_path: Path, mutant: str) -> None:
    with disturbing("sqlite", tmp_path, SEED, mutant) as disturbance:
        faults = disturbance.bring("no byte more").faults
    assert MUTANTS_IN_TROUBLE[mutant] & {fault.kind for fault in faults}


def test_a_crowd_with_unknown_keys_does_not_outlast_a_silent_database(tmp_path: Path) -> None:
    """Each of them needs a thread and the database; all are refused, and the next is served as soon as it is back."""

    async def ask(http: httpx.AsyncClient, number: int) -> int:
        key = {"Authorization": f"Bearer hf_{number}_secret"}
        return (await http.post("/v1/learners/any/decisions", json={}, headers=key)).status_code

    async def crowd(address: str) -> set[int]:
        limits = httpx.Limits(max_connections=CROWD + 1)
        async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as http:
            asking = [asyncio.create_task(ask(http, number)) for number in range(CROWD)]
            await asyncio.sleep(LONG_STALL_S / 2)
            (await http.get("/health/live")).raise_for_status()
            assert (await http.get("/health/ready")).status_code == 503
            return set(await asyncio.gather(*asking))

    with postgresql_in(tmp_path) as database, serving(database.url, auth="on") as server:
        database.stall()
        try:
            assert asyncio.run(crowd(f"http://127.0.0.1:{server.port}")) == {503}
        finally:
            database.go_on()
        server.wait_until_ready()
        assert server.http.post("/v1/learners/any/decisions", json={}).status_code == 401
