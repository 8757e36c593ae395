"""The command line. Wrong input gives one clear line and exit code 2, never a traceback."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, cast

import typer

from holdfast.checks import demand, demand_choice, is_text
from holdfast.errors import HoldfastError, NotFound
from holdfast.hosting.host import microseconds
from holdfast.settings import Settings, from_environment
from holdfast.store import audit as trail
from holdfast.store import keys as keyring
from holdfast.store import learners as rows
from holdfast.store.audit import COMMAND_LINE
from holdfast.store.database import Connection, Database
from holdfast.store.engine import connect, parse_url
from holdfast.store.keys import ROLES, Role
from holdfast.store.migrate import migrate as bring_up_to_date

NAME_LENGTH_MAX = 256

app = typer.Typer(name="holdfast", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
keys = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")
learners = typer.Typer(no_args_is_help=True, help="Look at the learners of a database.")
app.add_typer(keys, name="keys")
app.add_typer(learners, name="learners")
audit = typer.Typer(no_args_is_help=True, help="Who did what to learners and keys.")
app.add_typer(audit, name="audit")

DatabaseUrl = Annotated[str | None, typer.Option(help="sqlite:///file or postgresql://…")]


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Migrate, recover, serve."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before anything imports numpy: faster at these sizes, and the same bits
    import uvicorn

    with _plainly(database_url, host=host, port=port) as settings:
        from holdfast import logs
        from holdfast.app import build, front

        logs.configure()
        _greet(settings)
        # uvicorn drains, then sends itself the signal that stopped it: a stop that was asked for is no failure.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
        uvicorn.run(
            front(build(settings), settings), host=settings.host, port=settings.port, access_log=False,
            log_config=None, timeout_graceful_shutdown=8, proxy_headers=False,
        )  # fmt: skip


@app.command()
def migrate(database_url: DatabaseUrl = None) -> None:
    """Bring the database to the newest schema."""
    with _plainly(database_url) as settings, _database(settings):
        typer.echo("the database has the newest schema")


@app.command("openapi", hidden=True)
def print_openapi() -> None:
    """The OpenAPI document, as it is committed."""
    from holdfast.app import build

    typer.echo(json.dumps(build(Settings()).openapi(), indent=2, ensure_ascii=False))


@keys.command("create")
def create_key(
    role: Annotated[str, typer.Option(help=f"One of {', '.join(ROLES)}.")],
    name: Annotated[str, typer.Option(help="Whose key this is; the source of its rewards.")],
    learner: Annotated[str | None, typer.Option(help="The one learner it is for.")] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Print a new key, once."""
    with _plainly(database_url) as settings:
        demand_choice("--role", role, ROLES)
        demand(
            is_text(name, NAME_LENGTH_MAX) and bool(name), f"--name must be a text of 1 to {NAME_LENGTH_MAX} characters"
        )
        with _database(settings) as database, database.write() as connection:
            typer.echo(_new_key(connection, settings, name, cast(Role, role), learner))


@keys.command("list")
def list_keys(database_url: DatabaseUrl = None) -> None:
    """The keys' ids, names and roles; never their secrets."""
    with _plainly(database_url) as settings, _database(settings) as database, database.read() as connection:
        for key in keyring.every(connection):
            state = "active" if key.revoked_at is None else "revoked"
            typer.echo(f"{key.id}  {key.role:<6}  {state:<7}  {key.learner or '*'}  {key.name}")


@keys.command("revoke")
def revoke_key(key_id: str, database_url: DatabaseUrl = None) -> None:
    """Refuse a key from now on; a running server notices within seconds."""
    with _plainly(database_url) as settings, _database(settings) as database, database.write() as connection:
        if not keyring.revoke(connection, key_id, microseconds()):
            raise NotFound("key", "there is no active key of this id")
        trail.note(connection, COMMAND_LINE, "key revoked", key_id, microseconds())
        typer.echo("revoked")


@learners.command("list")
def list_learners(database_url: DatabaseUrl = None) -> None:
    """Names, modes and positions."""
    with _plainly(database_url) as settings, _database(settings) as database, database.read() as connection:
        after = ""
        while page := rows.page(connection, after, 100):
            for row in page:
                typer.echo(f"{row.name}  {row.mode}  position {row.head}")
            after = page[-1].name


@learners.command("show")
def show_learner(name: str, database_url: DatabaseUrl = None) -> None:
    """A learner's description."""
    with _plainly(database_url) as settings, _database(settings) as database, database.read() as connection:
        row = rows.find(connection, name)
        if row is None:
            raise NotFound("learner", "there is no learner of this name")
        typer.echo(json.dumps(json.loads(row.spec), indent=2, ensure_ascii=False))


@audit.command("list")
def list_acts(
    limit: Annotated[int, typer.Option(help="How many, the newest first.", min=1, max=1_000_000)] = 50,
    database_url: DatabaseUrl = None,
) -> None:
    """What was done to learners and keys, when and by whom; the newest first."""
    with _plainly(database_url) as settings, _database(settings) as database, database.read() as connection:
        for entry in trail.page(connection, trail.NEWEST, limit):
            when = datetime.fromtimestamp(entry.at / 1e6, UTC).isoformat(timespec="milliseconds")
            who = entry.actor if entry.key_id is None else f"{entry.actor} (key {entry.key_id})"
            typer.echo(f"{when}  {entry.act:<15}  {entry.target}  by {who}  {entry.detail}")


@contextmanager
def _plainly(database_url: str | None, **flags: str | int | None) -> Iterator[Settings]:
    """The settings; whatever Holdfast refuses is said in one line, with exit code 2."""
    try:
        yield from_environment(os.environ, database_url=database_url, **flags)
    except HoldfastError as problem:
        typer.echo(f"holdfast: {problem}", err=True)
        sys.exit(2)


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    database = Database(connect(parse_url(settings.database_url)))
    try:
        bring_up_to_date(database.engine)
        yield database
    finally:
        database.close()


def _greet(settings: Settings) -> None:
    """Say where it serves and, the first time, print the admin key that was made."""
    url = f"http://{settings.host}:{settings.port}"
    typer.echo(f"Holdfast serves at {url}  (docs: {url}/docs)")
    if settings.auth == "off":
        typer.echo("Authentication is off: whoever reaches this address may do anything.")
        return
    with _database(settings) as database, database.write() as connection:
        if not keyring.every(connection):
            key = _new_key(connection, settings, "first admin", "admin", None)
            typer.echo(f"Your admin key, shown only now: {key}")


def _new_key(connection: Connection, settings: Settings, name: str, role: Role, learner: str | None) -> str:
    """Stored, noted, and returned to be shown once."""
    now = microseconds()
    key = keyring.create(connection, name, role, learner, settings.pepper.encode(), now)
    trail.note(connection, COMMAND_LINE, "key created", key.split("_")[1], now, name=name, role=role, learner=learner)
    return key
