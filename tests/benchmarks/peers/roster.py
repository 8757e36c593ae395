"""Who takes part: the peers that are installed, and, said aloud, those that are not."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import NamedTuple

from tests.benchmarks.peers.ours import TEXTBOOK
from tests.benchmarks.peers.questions import Entry

MODULES = {
    "vowpalwabbit": "wabbit",
    "mabwiser": "mabwiser_peer",
    "contextualbandits": "contextualbandits_peer",
    "river": "river_peer",
}


class Roster(NamedTuple):
    """Everyone but Holdfast by name; the versions of what is installed; the reason why something is not."""

    entries: dict[str, Entry]
    versions: dict[str, str]
    missing: dict[str, str]

    def said(self) -> Iterator[str]:
        yield "Peers: " + (", ".join(f"{name} {number}" for name, number in self.versions.items()) or "none")
        for name, reason in self.missing.items():
            yield f"NOT COMPARED: {name} could not be imported ({reason}); `make bench-peers` installs it where it can."


@cache
def roster() -> Roster:
    """Look once."""
    found = Roster({}, {}, {})
    for package, module in MODULES.items():
        try:
            peer = import_module(f"tests.benchmarks.peers.{module}")
        except ImportError as problem:
            found.missing[package] = str(problem)
            continue
        found.entries.update(peer.ENTRIES)
        found.versions[package] = version(package)
    found.entries.update(TEXTBOOK)
    return found
