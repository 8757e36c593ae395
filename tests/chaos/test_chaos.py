"""kill -9 against a real server on each database, and the proof that the harness notices broken ones."""

import pytest
from sqlalchemy.engine import URL

from tests.chaos.harness import kill_again_and_again
from tests.chaos.mutants import MUTANTS

SEED = 3
KILLS = 10
KILLS_TO_CATCH_A_MUTANT = 10
ACKNOWLEDGED_PER_KILL_MIN = 10  # fewer, and there was no load to speak of


def test_ten_kills_lose_double_invent_and_misremember_nothing(url: URL) -> None:
    report = kill_again_and_again(url, KILLS, SEED)
    assert report.kills == KILLS
    assert report.faults == frozenset()
    assert report.acknowledged >= KILLS * ACKNOWLEDGED_PER_KILL_MIN
    assert report.repeated >= KILLS


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_build_is_caught_at_what_it_does(url: URL, mutant: str) -> None:
    faults = kill_again_and_again(url, KILLS_TO_CATCH_A_MUTANT, SEED, mutant).faults
    assert MUTANTS[mutant] & {fault.kind for fault in faults}
