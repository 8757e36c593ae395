"""The command line. Wrong input gives one clear line and exit code 2, never a traceback."""

import json
import os
import signal
import socket
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn, cast

import typer
from sqlalchemy.exc import SQLAlchemyError

from holdfast import __version__
from holdfast.checks import demand, demand_choice, is_text
from holdfast.errors import HoldfastError, InvalidConfiguration, NotFound
from holdfast.settings import Settings, from_environment
from holdfast.store import audit as trail
from holdfast.store import keys as keyring
from holdfast.store import learners as rows
from holdfast.store.audit import COMMAND_LINE
from holdfast.store.database import Connection, Database
from holdfast.store.engine import alone, connect, is_missing, parse_url
from holdfast.store.keys import ROLES, Role
from holdfast.store.migrate import migrate as bring_up_to_date

NAME_LENGTH_MAX = 256
STATE_FILE_BYTES_MAX = 2**29  # eight times what HTTP takes

app = typer.Typer(
    name="holdfast",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # errors without boxes
    epilog="holdfast simulate is the simulator's: adversarial traffic with a known truth.",
)
keys = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")
learners = typer.Typer(no_args_is_help=True, help="Look at the learners of a database.")
app.add_typer(keys, name="keys")
app.add_typer(learners, name="learners")
audit = typer.Typer(no_args_is_help=True, help="Who did what to learners and keys.")
app.add_typer(audit, name="audit")

DatabaseUrl = Annotated[str | None, typer.Option(help="sqlite:///file or postgresql://…")]


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version and stop.")
    ] = False,
) -> None:
    """An online decision service that keeps learning well when somebody lies to it."""


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

    from holdfast import logs
    from holdfast.api.exchange import HotProtocol
    from holdfast.app import DRAIN_WITHIN_S, served

    with _plainly(database_url, host=host, port=port) as settings:
        with alone(parse_url(settings.database_url)):
            pass  # refused here in one line; the application takes it again
        with _listener(settings) as listener:
            _greet(settings, listener.getsockname()[1])
            logs.configure()
            watch, front = served(settings)
            config = uvicorn.Config(
                watch,
                access_log=False,
                log_config=None,
                proxy_headers=False,
                http=partial(HotProtocol, front, watch),  # type: ignore[arg-type]  # it makes one
                ws="none",
                timeout_graceful_shutdown=DRAIN_WITHIN_S,
            )
            # uvicorn drains, then sends itself the signal that stopped it: a stop that was asked for is no failure.
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
            server = uvicorn.Server(config)
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
            sys.exit(0 if server.started else 2)


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
    from holdfast.api.schemas import is_name

    with _plainly(database_url) as settings:
        demand_choice("--role", role, ROLES)
        demand(
            is_text(name, NAME_LENGTH_MAX) and bool(name), f"--name must be a text of 1 to {NAME_LENGTH_MAX} characters"
        )
        demand(_is_one_line(name), "--name must not have control characters or line breaks")
        demand(learner is None or is_name(learner), "--learner must be a name that a learner can have")
        with _database(settings) as database, database.write() as connection:
            typer.echo(_new_key(connection, settings, name, cast(Role, role), learner))


@keys.command("list")
def list_keys(database_url: DatabaseUrl = None) -> None:
    """The keys' ids, names and roles; never their secrets."""
    with _plainly(database_url) as settings, _existing_database(settings) as database, database.read() as connection:
        for key in keyring.every(connection):
            state = "active" if key.revoked_at is None else "revoked"
            typer.echo(f"{key.id}  {key.role:<6}  {state:<7}  {key.learner or '*'}  {key.name}")


@keys.command("revoke")
def revoke_key(key_id: str, database_url: DatabaseUrl = None) -> None:
    """Refuse a key from now on; a running server notices within seconds."""
    with _plainly(database_url) as settings, _existing_database(settings) as database, database.write() as connection:
        if not keyring.revoke(connection, key_id, microseconds()):
            raise NotFound("key", "there is no active key of this id")
        trail.note(connection, COMMAND_LINE, "key revoked", key_id, microseconds())
        typer.echo("revoked")


@learners.command("list")
def list_learners(database_url: DatabaseUrl = None) -> None:
    """Names, modes and positions."""
    with _plainly(database_url) as settings, _existing_database(settings) as database, database.read() as connection:
        after = ""
        while page := rows.page(connection, after, 100):
            for row in page:
                typer.echo(f"{row.name}  {row.mode}  position {row.head}")
            after = page[-1].name


@learners.command("show")
def show_learner(name: str, database_url: DatabaseUrl = None) -> None:
    """A learner's description."""
    with _plainly(database_url) as settings, _existing_database(settings) as database, database.read() as connection:
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
    with _plainly(database_url) as settings, _existing_database(settings) as database, database.read() as connection:
        for entry in trail.page(connection, trail.NEWEST, limit):
            when = datetime.fromtimestamp(entry.at / 1e6, UTC).isoformat(timespec="milliseconds")
            who = entry.actor if entry.key_id is None else f"{entry.actor} (key {entry.key_id})"
            typer.echo(f"{when}  {entry.act:<15}  {entry.target}  by {who}  {entry.detail}")


@learners.command("export")
def export_learner(name: str, file: Path, database_url: DatabaseUrl = None) -> None:
    """Write a learner's state to a file: what GET …/state answers. A server may run meanwhile."""
    from holdfast.hosting.apart import export_state

    with _plainly(database_url) as settings, _existing_database(settings) as database:
        position, state = export_state(database, name, _warn)
        _write(file, state)
        typer.echo(f"wrote {name} at position {position}, {len(state):,} bytes")


@learners.command("import")
def import_learner(name: str, file: Path, database_url: DatabaseUrl = None) -> None:
    """Read a state file into a learner of the same shape that has seen nothing; on SQLite, while no server runs."""
    from holdfast.hosting.apart import import_state

    with _plainly(database_url) as settings:
        state = _read(file)
        with _existing_database(settings) as database, alone(parse_url(settings.database_url)):
            position = import_state(database, name, state, COMMAND_LINE, _warn)
        typer.echo(f"imported into {name}, position {position}")


@contextmanager
def _plainly(database_url: str | None, **flags: str | int | None) -> Iterator[Settings]:
    """The settings; whatever Holdfast refuses is said in one line, with exit code 2."""
    try:
        yield from_environment(os.environ, database_url=database_url, **flags)
    except HoldfastError as problem:
        _refuse(str(problem))
    except SQLAlchemyError as problem:
        _refuse(f"the database did not answer: {getattr(problem, 'orig', None) or type(problem).__name__}")
    except OSError as problem:
        _refuse(": ".join(str(part) for part in (problem.filename, problem.strerror or problem) if part))
    except UnicodeError:
        _refuse("names must be text in UTF-8")


def microseconds() -> int:
    """The database's time, without the imports of `hosting`: serving must pin numpy's threads before it is loaded."""
    return time.time_ns() // 1_000


def _refuse(reason: str) -> NoReturn:
    """One line, whatever the reason has."""
    typer.echo(f"holdfast: {' '.join(reason.split())}", err=True)
    sys.exit(2)


def _is_one_line(text: str) -> bool:
    """Whether it can be printed in a list without moving the cursor."""
    return not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text)


def _warn(event: str, **facts: object) -> None:
    told = ", ".join(f"{name} {fact}" for name, fact in facts.items())
    typer.echo(f"holdfast: {event}: {told}", err=True)


def _read(file: Path) -> bytes:
    """No more than could be a state: a device may have no end."""
    with file.open("rb") as source:
        content = source.read(STATE_FILE_BYTES_MAX + 1)
    demand(len(content) <= STATE_FILE_BYTES_MAX, f"a state file has at most {STATE_FILE_BYTES_MAX:,} bytes")
    return content


def _write(file: Path, content: bytes) -> None:
    """All of it or nothing: a full disk must not cost an older file of this name. Into a pipe or a device, as it is."""
    if file.exists() and not file.is_file():
        file.write_bytes(content)
        return
    target = Path(os.path.realpath(file))  # what a link leads to
    if target.is_symlink():
        target.stat()  # refuses links that lead in a circle
    partial = target.with_name(f"{target.name}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(target)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        raise


def _listener(settings: Settings) -> socket.socket:
    """Bound, so that a port in use is refused here; connections are taken once the learners can be served."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as problem:
        listener.close()
        raise InvalidConfiguration(f"cannot listen on {settings.host}:{settings.port}: {problem.strerror}") from None
    return listener


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    database = Database(connect(parse_url(settings.database_url)))
    try:
        bring_up_to_date(database.engine)
        yield database
    finally:
        database.close()


@contextmanager
def _existing_database(settings: Settings) -> Iterator[Database]:
    """For whoever needs what is in it: a mistyped name must not make a file that is empty."""
    url = parse_url(settings.database_url)
    demand(not is_missing(url), f"there is no database {url.database}; holdfast serve and holdfast migrate make one")
    with _database(settings) as database:
        yield database


def _greet(settings: Settings, port: int) -> None:
    """Migrate, say where it will serve and, the first time, print the admin key that was made."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    with _database(settings) as database, database.write() as connection:
        typer.echo(f"Holdfast serves at http://{host}:{port}  (docs: http://{host}:{port}/docs)")
        if settings.auth == "off":
            typer.echo("Authentication is off: whoever reaches this address may do anything.")
        elif not keyring.every(connection):
            key = _new_key(connection, settings, "first admin", "admin", None)
            typer.echo(f"Your admin key, shown only now: {key}")


def _new_key(connection: Connection, settings: Settings, name: str, role: Role, learner: str | None) -> str:
    """Stored, noted, and returned to be shown once."""
    now = microseconds()
    key = keyring.create(connection, name, role, learner, settings.pepper.encode(), now)
    trail.note(connection, COMMAND_LINE, "key created", key.split("_")[1], now, name=name, role=role, learner=learner)
    return key
