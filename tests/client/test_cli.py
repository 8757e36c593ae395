"""The `holdfast` command: of the base install, and handed over to the service."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from holdfast_client import __version__, cli

ROOT = Path(__file__).parent.parent.parent
HEAVY = ("numpy", "scipy", "pydantic", "fastapi", "sqlalchemy", "typer", "uvicorn", "msgspec")


def _needed(name: str) -> set[str]:
    """A distribution and what it needs without any extra."""
    wanted = [r for r in metadata.requires(name) or [] if "extra ==" not in r]
    applicable = [r for r in wanted if 'python_version < "3' not in r or "typing" in r]
    return {name}.union(*(_needed(re.split(r"[^\w.-]", requirement)[0]) for requirement in applicable))


def _installed(folder: Path, *packages: str) -> dict[str, str]:
    """An environment with this package, those, and what they need."""
    for name in set().union(*map(_needed, packages)):
        tops = {file.parts[0] for file in metadata.files(name) or []} - {"..", "__pycache__"}
        for top in tops:
            (folder / top).symlink_to(Path(str(metadata.distribution(name).locate_file(top))))
    path = os.pathsep.join(map(str, (folder, ROOT / "client", ROOT / "service")))
    return os.environ | {"PYTHONPATH": path}


@pytest.fixture(scope="module")
def base_install(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Packages are this one, httpx and what httpx needs; `make sdk-check` builds a real one."""
    return _installed(tmp_path_factory.mktemp("base"), "httpx")


def _run(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-S", *words]  # -S: no other packages
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def _holdfast(environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return _run(environment, "-m", "holdfast_client.cli", *words)


def test_the_base_install_has_the_sdk_and_nothing_heavy(base_install: dict[str, str]) -> None:
    program = "import holdfast_client, importlib.util as u, sys; print(*[m for m in sys.argv[1:] if u.find_spec(m)])"
    done = _run(base_install, "-c", program, *HEAVY)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize(("command", "extra"), cli.EXTRAS.items())
def test_each_command_says_which_extra_it_needs(base_install: dict[str, str], command: str, extra: str) -> None:
    done = _holdfast(base_install, command, "--port", "1")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"holdfast: '{command}' needs the {extra} extra (")
    assert done.stderr.endswith(f"pip install 'holdfast[{extra}]'\n")


def test_the_simulator_needs_its_own_extra_alone(tmp_path: Path) -> None:
    environment = _installed(tmp_path, "httpx", "numpy")
    done = _holdfast(environment, "simulate", "list")
    assert done.returncode == 0, done.stderr
    assert "cold-item" in done.stdout
    away = _holdfast(environment, "simulate", "run", "cold-item", "--url", "http://127.0.0.1:9")
    assert away.returncode == 2
    assert away.stderr.startswith("holdfast simulate: ")


def test_without_a_command_it_says_what_there_is(base_install: dict[str, str]) -> None:
    done = _holdfast(base_install, "--help")
    assert done.returncode == 0
    assert "holdfast[service]" in done.stdout
    assert _holdfast(base_install).returncode == 2
    assert _holdfast(base_install, "--version").stdout == f"holdfast {__version__}\n"


def test_with_the_service_installed_it_is_the_services_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "holdfast_client.cli", "keys", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "revoke" in done.stdout


def test_a_broken_service_is_not_mistaken_for_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "holdfast").mkdir()
    (tmp_path / "holdfast" / "__init__.py").touch()
    (tmp_path / "holdfast" / "cli.py").write_text("import holdfast.gone\n", encoding="utf-8")
    path = os.pathsep.join(map(str, (tmp_path, ROOT / "client")))
    done = subprocess.run(
        [sys.executable, "-m", "holdfast_client.cli", "serve"],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert "holdfast.gone" in done.stderr
    assert "extra" not in done.stderr


def test_the_installed_command_is_this_one() -> None:
    [entry] = [entry for entry in metadata.entry_points(group="console_scripts") if entry.name == "holdfast"]
    assert entry.value == "holdfast_client.cli:main"
