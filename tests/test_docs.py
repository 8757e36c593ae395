"""The documents say what is so."""

import doctest
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import holdfast
import holdfast_client
from tests.acceptance.server import Server
from tests.benchmarks import record
from tests.benchmarks.peers import __main__ as peers_command
from tests.benchmarks.peers import record as peers_record
from tests.benchmarks.peers import service as peers_service
from tests.benchmarks.peers import speed as peers_speed
from tests.benchmarks.peers import tuning as peers_tuning

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readmes_examples_run_as_printed(live_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_URL", str(live_server.http.base_url))
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert results.attempted > 5
    assert results.failed == 0


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_every_make_target_a_document_names_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", _text("Makefile"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", _text(name), flags=re.MULTILINE))
    assert named
    assert named <= targets
    assert {"install", "serve", "test", "check", "bench", "demo"} <= targets


def test_every_module_is_on_the_code_map() -> None:
    architecture = _text("ARCHITECTURE.md")
    for package in ("functions", "features", "learners", "store", "hosting", "api"):
        row = next(line for line in architecture.splitlines() if f"holdfast/{package}/`" in line)
        for path in (ROOT / "service/holdfast" / package).glob("*.py"):
            small_parts = {"__init__", "linear", "candidates", "numbers", "hashing", "database", "service", "bodies"}
            assert path.stem in row or path.stem in small_parts, f"{package}/{path.name} is not on the code map"


def test_every_module_of_the_sdk_is_on_the_code_map() -> None:
    row = next(line for line in _text("ARCHITECTURE.md").splitlines() if "`client/holdfast_client/`" in line)
    for path in (ROOT / "client/holdfast_client").glob("*.py"):
        assert f"`{path.stem.removeprefix('async_')}`" in row or path.stem == "__init__", path.name


def test_every_module_of_the_simulator_is_on_the_code_map() -> None:
    row = next(line for line in _text("ARCHITECTURE.md").splitlines() if "`client/holdfast_client/simulator/`" in line)
    for path in (ROOT / "client/holdfast_client/simulator").glob("*.py"):
        assert f"`{path.stem}`" in row or path.stem == "__init__", path.name


def test_every_module_of_the_comparison_is_on_the_code_map() -> None:
    row = next(line for line in _text("ARCHITECTURE.md").splitlines() if "`tests/benchmarks/peers/`" in line)
    for path in (ROOT / "tests/benchmarks/peers").glob("*.py"):
        assert f"`{path.stem}`" in row or path.stem in {"__init__", "__main__", "conftest", "test_peers"}, path.name


def test_every_dependency_has_its_line_of_reason() -> None:
    table = _text("ARCHITECTURE.md").split("## Dependencies")[1]
    wanted = PROJECT["dependencies"] + [d for extra in PROJECT["optional-dependencies"].values() for d in extra]
    for requirement in wanted:
        name = re.split(r"[<>=\[]", requirement)[0]
        assert name == "holdfast" or re.search(rf"\b{name}\b", table), f"no reason given for {name}"


def test_the_base_install_is_httpx_alone() -> None:
    assert [re.split(r"[<>=]", d)[0] for d in PROJECT["dependencies"]] == ["httpx"]


def test_there_is_one_version() -> None:
    assert PROJECT["version"] == holdfast.__version__ == holdfast_client.__version__


def test_the_readmes_figures_are_those_of_the_recorded_benchmarks() -> None:
    shown = record.SUMMARY.search(_text("README.md"))
    assert shown is not None
    assert shown[0].split("\n", 1)[1].rsplit("\n", 1)[0] == record.summary_of(_text("BENCHMARKS.md"))


def test_the_recorded_benchmarks_show_what_they_must() -> None:
    recorded = _text("BENCHMARKS.md")
    assert "NO)" not in recorded
    assert recorded.count("yes)") >= 8


def test_the_readmes_comparison_is_the_recorded_one() -> None:
    shown = peers_record.SUMMARY.search(_text("README.md"))
    assert shown is not None
    assert shown[0].split("\n", 1)[1].rsplit("\n", 1)[0] == peers_record.summary_of(_text("PEERS.md"))


def test_the_recorded_comparison_says_of_itself_what_the_command_says() -> None:
    recorded = _text("PEERS.md")
    assert peers_tuning.told(peers_tuning.Trial()) in recorded
    assert peers_service.told(peers_command.Plan().served) in recorded
    assert peers_speed.told(peers_command.Plan().timed) in recorded
    for library in peers_speed.TARGETS:
        assert re.search(re.escape(peers_speed.compared(library, 0.0)).replace(r"×0\.0", r"×[0-9.]+"), recorded)


def test_no_tracked_file_names_a_machines_path_or_a_registrys_host() -> None:
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        tracked = listed.stdout.splitlines()
    else:  # an unpacked archive
        tracked = [str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.*"), *ROOT.glob("[a-z]*/**/*.py")]]
    forbidden = re.compile(
        "|".join(["file:" + "//", "/" + "root/", "/" + "opt/", "pypi" + r"\.org", "python" + "hosted"])
    )
    for name in tracked:
        path = ROOT / name
        if path.exists() and path.suffix not in {".png"}:
            assert not forbidden.search(path.read_text(encoding="utf-8")), name
