"""Hypothesis without deadlines and with the same examples every time; every store test on both databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy.engine import URL

from holdfast.store.database import Database
from tests.databases import KINDS, end_postgresql, fresh_url, migrated

settings.register_profile("holdfast", deadline=None, derandomize=True)
settings.load_profile("holdfast")


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> URL:
    """An empty database of each kind."""
    return fresh_url(request.param, tmp_path)


@pytest.fixture
def database(url: URL) -> Iterator[Database]:
    """A migrated one."""
    yield from migrated(url)


def pytest_unconfigure() -> None:
    end_postgresql()
