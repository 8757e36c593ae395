"""`holdfast` as a person types it, in a process of its own, on a server's database."""

import os
import subprocess
import sys

from sqlalchemy.engine import URL

COMMAND = [sys.executable, "-c", "from holdfast.cli import app; app()"]


def run(url: URL, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"HOLDFAST_DATABASE_URL": url.render_as_string(hide_password=False)}
    return subprocess.run([*COMMAND, *words], env=environment, capture_output=True, text=True, timeout=60)


def said(url: URL, *words: str) -> str:
    """What a command that worked has printed."""
    done = run(url, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refusal(url: URL, *words: str) -> str:
    """The one line of a command that refused."""
    done = run(url, *words)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("holdfast: "), done.stderr
    return done.stderr.strip()
