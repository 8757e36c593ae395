"""The `holdfast` command of every install. It hands over to the service or the simulator, or says what is missing."""

import importlib
import sys

from holdfast_client.version import __version__

COMMAND_LINE = "holdfast.cli"  # a Typer application; not imported before it is known to be there
SIMULATION = "holdfast_client.simulator.command"
SERVICE, SIMULATOR = "service", "simulator"
# What each subcommand needs besides the base install.
EXTRAS = {
    "serve": SERVICE,
    "migrate": SERVICE,
    "keys": SERVICE,
    "learners": SERVICE,
    "openapi": SERVICE,
    "simulate": SIMULATOR,
    "bench": "dev",
}

USAGE = f"""holdfast {__version__}: the SDK alone (import holdfast_client)

Its commands come with extras:
  serve, migrate, keys, learners    pip install 'holdfast[service]'
  simulate                          pip install 'holdfast[simulator]'
"""


def main() -> None:
    """Run the service's command line, or the simulator's, if it is installed."""
    words = sys.argv[1:]
    if words == ["--version"]:
        print(f"holdfast {__version__}")  # noqa: T201
        return
    is_simulation = words[:1] == ["simulate"]
    try:
        command_line = importlib.import_module(SIMULATION if is_simulation else COMMAND_LINE)
    except ModuleNotFoundError as missing:
        if (missing.name or "holdfast.").startswith(("holdfast.", "holdfast_client.")):
            raise  # not an extra that is missing, but a part of ours
        sys.exit(_explain(words, missing.name or "a package"))
    if is_simulation:
        sys.exit(command_line.main(words[1:]))
    command_line.app()


def _explain(words: list[str], missing: str) -> int:
    """Say which extra the subcommand needs; the exit code."""
    command = next((word for word in words if not word.startswith("-")), None)
    if command is None:
        print(USAGE, end="")  # noqa: T201
        return 0 if words else 2
    extra = EXTRAS.get(command, SERVICE)
    said = (
        f"holdfast: '{command}' needs the {extra} extra ({missing} is not installed): pip install 'holdfast[{extra}]'"
    )
    print(said, file=sys.stderr)  # noqa: T201
    return 2


if __name__ == "__main__":
    main()
