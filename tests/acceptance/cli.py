"""`holdfast` as a person types it, in this process: starting another would take longer than its work."""

from typing import Any

from sqlalchemy.engine import URL
from typer.testing import CliRunner

from holdfast.cli import app


def run(url: URL, *words: str) -> Any:
    environment = {"HOLDFAST_DATABASE_URL": url.render_as_string(hide_password=False)}
    return CliRunner().invoke(app, list(words), env=environment)


def said(url: URL, *words: str) -> str:
    """What a command that worked has printed."""
    done = run(url, *words)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def refusal(url: URL, *words: str) -> str:
    """The one line of a command that refused."""
    done = run(url, *words)
    assert (done.exit_code, done.stdout) == (2, ""), (done.output, done.exception)
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("holdfast: "), done.stderr
    return done.stderr.strip()
