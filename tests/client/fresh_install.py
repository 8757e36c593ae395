"""The wheel, alone in a fresh environment: what it brings, and how long its import takes. Part of `make sdk-check`."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent.parent
HEAVY = {"numpy", "scipy", "pydantic", "fastapi", "sqlalchemy"}
IMPORT_WITHIN_S = 0.3
RUNS = 9
TIMED_IMPORT = "import time; t = time.perf_counter(); import holdfast_client; print(time.perf_counter() - t)"
LOADED = "import sys, holdfast_client; print(*{name.split('.')[0] for name in sys.modules})"
INSTALLED = "from importlib.metadata import distributions; print(*sorted(d.name.lower() for d in distributions()))"


def run(*command: str | Path, expected: int = 0) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


def build_and_install(folder: Path) -> Path:
    """The Python of an environment with the base install and nothing else."""
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pinned = folder / "pinned.txt"  # the versions of the lock; hashes are for installs from the lock itself
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pinned.write_text("\n".join(line.rstrip(" \\") for line in lines if "==" in line and line[0] not in " #"), "utf-8")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", pinned, wheel)
    return python


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="holdfast-fresh-") as name:
        python = build_and_install(Path(name))
        installed = set(run(python, "-c", INSTALLED).split())
        loaded = set(run(python, "-c", LOADED).split())
        times_s = sorted(float(run(python, "-c", TIMED_IMPORT)) for _ in range(RUNS))
        refused = run(python.with_name("holdfast"), "serve", expected=2).strip()
    print(f"installed: {', '.join(sorted(installed))}")
    print(f"import holdfast_client: median {median(times_s):.3f} s, worst of {RUNS} {times_s[-1]:.3f} s")
    print(f"holdfast serve: {refused}")
    heavy = sorted(HEAVY & (installed | loaded))
    print(f"heavy packages installed or loaded: {', '.join(heavy) or 'none'}")
    fine = not heavy and median(times_s) < IMPORT_WITHIN_S and "service extra" in refused
    print("fresh install: " + ("fine" if fine else "NOT FINE"))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
