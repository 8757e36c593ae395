"""In Holdfast's own environment there are no peers, and what imports them is not collected."""

from importlib.util import find_spec

NEEDS = {
    "wabbit.py": "vowpalwabbit",
    "shell.py": "vowpalwabbit",
    "mabwiser_peer.py": "mabwiser",
    "contextualbandits_peer.py": "contextualbandits",
    "river_peer.py": "river",
    "rlberry_peer.py": "rlberry_scool",
}
collect_ignore = [name for name, package in NEEDS.items() if find_spec(package) is None]
