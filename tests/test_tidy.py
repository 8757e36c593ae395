"""The architecture as a test: who may import whom, how large things may get, and names that say nothing."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "service").rglob("*.py")) + sorted((ROOT / "client").rglob("*.py"))
EVERYTHING = SOURCES + sorted((ROOT / "tests").rglob("*.py"))

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
BANNED_WORDS = {"manager", "helper", "util", "utils", "handler", "processor", "base", "common", "misc"}

PURE_STANDARD_LIBRARY = {
    "array",
    "collections",
    "dataclasses",
    "functools",
    "hashlib",
    "itertools",
    "math",
    "struct",
    "typing",
}
GROUND = {"numpy", "holdfast.arrays", "holdfast.checks", "holdfast.errors"}
PURE = {
    "holdfast/functions": GROUND | {"scipy", "holdfast.functions"},
    "holdfast/features": GROUND | {"scipy", "simdjson", "holdfast.features"},
    "holdfast/learners": GROUND | {"scipy", "safetensors", "holdfast.functions", "holdfast.learners"},
}
SHELL = {
    "holdfast/store": {"sqlalchemy", "alembic", "psycopg", "greenlet", "holdfast.errors", "holdfast.store"},
    "holdfast/hosting": GROUND | {"msgspec"} | {f"holdfast.{p}" for p in ("learners", "features", "store", "hosting")},
    "holdfast/api": {
        "holdfast.arrays",
        "fastapi",
        "starlette",
        "uvicorn",
        "pydantic",
        "msgspec",
        "prometheus_client",
        "structlog",
    }
    | {"holdfast.errors"}
    | {f"holdfast.{p}" for p in ("features", "hosting", "store", "api")},
}


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_id(path)}: relative import"
            yield node.module or ""


def _allowed(name: str, allowed: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)


@pytest.mark.parametrize("layer", PURE | SHELL)
def test_each_layer_imports_only_what_lies_below_it(layer: str) -> None:
    """The pure layers may use a few modules of the standard library, the others all of it."""
    files = sorted((ROOT / "service" / layer).rglob("*.py"))
    assert files
    allowed = PURE[layer] | PURE_STANDARD_LIBRARY if layer in PURE else SHELL[layer] | sys.stdlib_module_names
    for path in files:
        for name in _imports(path):
            assert _allowed(name, allowed), f"{_id(path)} imports {name}"


def test_only_the_settings_and_the_command_line_see_the_environment() -> None:
    for path in SOURCES:
        if path.name not in ("settings.py", "cli.py"):
            assert not re.search(r"\benviron\b|getenv", path.read_text(encoding="utf-8")), _id(path)


def test_the_sdk_imports_nothing_but_httpx_and_the_standard_library() -> None:
    """The simulator, an extra of its own, may use numpy too, and nothing else imports it."""
    for path in (ROOT / "client").rglob("*.py"):
        is_simulator = path.parent.name == "simulator"
        allowed = {"httpx", "holdfast_client", *(["numpy"] if is_simulator else [])} | sys.stdlib_module_names
        for name in _imports(path):
            assert name.split(".")[0] in allowed, f"{_id(path)} imports {name}"
            assert is_simulator or "simulator" not in name, f"{_id(path)} imports {name}"


def test_importing_the_sdk_brings_in_no_heavy_package() -> None:
    program = "import holdfast_client, sys; print(*{m.split('.')[0] for m in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "pydantic", "fastapi", "sqlalchemy", "holdfast"} & set(loaded)


@pytest.mark.parametrize("layer", PURE)
def test_the_pure_packages_touch_nothing_outside_themselves(layer: str) -> None:
    """No files, no printing, no global randomness."""
    for path in (ROOT / "service" / layer).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"open", "print", "input", "eval", "exec", "__import__"}, _id(path)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
                assert node.attr in {"default_rng", "Generator"}, f"{_id(path)} uses np.random.{node.attr}"
            assert not isinstance(node, ast.Global), _id(path)


@pytest.mark.parametrize("path", EVERYTHING, ids=_id)
def test_modules_and_functions_stay_small(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MODULE_LINES_MAX
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX, f"{node.name} has {length} lines"


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


@pytest.mark.parametrize("path", SOURCES, ids=_id)
def test_no_name_is_one_of_those_that_say_nothing(path: Path) -> None:
    named = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    for name in [path.stem, path.parent.name, *(node.name for node in nodes if isinstance(node, named))]:
        assert not _words(name) & BANNED_WORDS, f"{name} in {_id(path)}"


@pytest.mark.parametrize("path", SOURCES, ids=_id)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name != "errors.py"], ids=_id)
def test_inheritance_is_at_most_one_level_deep(path: Path) -> None:
    relative = path.relative_to(ROOT / path.relative_to(ROOT).parts[0]).with_suffix("")
    module = importlib.import_module(".".join(p for p in relative.parts if p != "__init__"))
    for _, cls in inspect.getmembers(module, inspect.isclass):
        ours = [c for c in cls.__mro__ if c.__module__.startswith("holdfast") and "errors" not in c.__module__]
        assert len(ours) <= 2, f"{cls.__name__}: {[c.__name__ for c in ours]}"


@pytest.mark.parametrize("name", ["pickle", "dill", "joblib", "shelve", "marshal"])
def test_nothing_is_ever_unpickled(name: str) -> None:
    for path in SOURCES:
        assert name not in {imported.split(".")[0] for imported in _imports(path)}


def test_the_tests_mirror_the_source() -> None:
    """Every module of the pure packages with code of its own has a test file of the same name."""
    tested_elsewhere = {
        "functions/protocol.py": "contracts",
        "functions/linear.py": "test_ridge and the contracts",
        "features/limits.py": "constants",
        "features/candidates.py": "test_dense",
        "features/numbers.py": "test_dense and test_hashed",
        "functions/points.py": "test_bandit, on every class",
        "learners/weighting.py": "its doctest and test_bandit",
        "learners/ranking.py": "test_bandit and mdp/test_learner",
        "learners/reward.py": "its doctest and tests/hosting",
    }
    for layer in PURE:
        package = layer.split("/")[1]
        for path in (ROOT / "service" / layer).glob("*.py"):
            if path.name != "__init__.py" and f"{package}/{path.name}" not in tested_elsewhere:
                assert (ROOT / "tests" / package / f"test_{path.name}").exists(), f"no test for {_id(path)}"
