"""The command line beside real servers: what it does, and how it refuses."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import URL

import holdfast
from holdfast.store.database import Database
from holdfast.store.engine import connect, parse_url
from tests.acceptance import cli
from tests.acceptance.server import Server, serving
from tests.acceptance.test_service import LEARNER, question
from tests.databases import fresh_url

AWAY = parse_url("postgresql://127.0.0.1:1/nobody")


@pytest.fixture
def server(url: URL) -> Iterator[Server]:
    """With a learner that has learned, one of the same shape that has not, and one of another shape."""
    with serving(url) as server:
        for name in ("home", "twin"):
            assert server.post("/v1/learners", LEARNER | {"name": name}).status_code == 201
        wide = {"name": "wide", "features": {"kind": "dense", "context": 3, "action": 1}}
        server.post("/v1/learners", LEARNER | wide)
        for number in range(10):
            server.post("/v1/learners/home/decisions", question(number))
            server.post("/v1/learners/home/rewards", {"decision_id": f"d{number}", "value": 0.5})
        yield server


def test_a_state_moves_through_a_file_to_another_learner(server: Server, url: URL, tmp_path: Path) -> None:
    file = tmp_path / "home.state"
    state = server.http.get("/v1/learners/home/state").content
    assert "position 20" in cli.said(url, "learners", "export", "home", str(file))  # beside the server
    assert file.read_bytes() == state
    assert server.stop() == 0
    assert "position 1" in cli.said(url, "learners", "import", "twin", str(file))
    assert "only into a learner that has seen nothing" in cli.refusal(url, "learners", "import", "twin", str(file))
    assert "state imported   twin  by command line" in cli.said(url, "audit", "list")
    assert list(tmp_path.glob("*.partial")) == []
    server.start()
    assert server.http.get("/v1/learners/twin/state").content == state
    assert server.post("/v1/learners/twin/decisions", question(1)).json()["position"] == 2


def test_an_import_beside_a_server_needs_postgresql(server: Server, url: URL, tmp_path: Path) -> None:
    file = tmp_path / "home.state"
    server.http.get("/v1/learners/twin/diagnostics")  # the server has it in memory
    cli.said(url, "learners", "export", "home", str(file))
    if url.get_backend_name() == "sqlite":
        assert "another holdfast serves holdfast.db" in cli.refusal(url, "learners", "import", "twin", str(file))
        return
    cli.said(url, "learners", "import", "twin", str(file))
    assert server.http.get("/v1/learners/twin/state").content == file.read_bytes()


def test_a_link_is_written_through_and_a_pipe_written_into(server: Server, url: URL, tmp_path: Path) -> None:
    file, link, pipe = tmp_path / "home.state", tmp_path / "link", tmp_path / "pipe"
    file.write_bytes(b"older")
    link.symlink_to(file)
    cli.said(url, "learners", "export", "home", str(link))
    state = server.http.get("/v1/learners/home/state").content
    assert link.is_symlink()
    assert file.read_bytes() == state
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(pipe.read_bytes)
        cli.said(url, "learners", "export", "home", str(pipe))
        assert read.result(10) == state
    assert pipe.is_fifo()


def test_what_cannot_be_exported_or_imported_is_refused_in_one_line(server: Server, url: URL, tmp_path: Path) -> None:
    file, damaged = tmp_path / "home.state", tmp_path / "damaged.state"
    cli.said(url, "learners", "export", "home", str(file))
    damaged.write_bytes(file.read_bytes()[:-1])
    server.stop()
    (tmp_path / "there").symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(tmp_path / "there")
    for words, reason in (
        (("export", "home", str(tmp_path / "there")), "Too many levels of symbolic links"),
        (("export", "nobody", str(file)), "no learner of this name"),
        (("export", "home", str(tmp_path / "no" / "folder")), "No such file or directory"),
        (("export", "home", str(tmp_path)), "Is a directory"),
        (("export", "home", "."), "Is a directory"),
        (("export", "home", "/"), "Is a directory"),
        (("import", "twin", "/dev/zero"), "a state file has at most"),
        (("import", "nobody", str(file)), "no learner of this name"),
        (("import", "twin", str(tmp_path / "nothing")), "No such file or directory"),
        (("import", "twin", str(tmp_path)), "Is a directory"),
        (("import", "twin", str(damaged)), ""),
        (("import", "twin", __file__), ""),
        (("import", "wide", str(file)), ""),
    ):
        assert reason in cli.refusal(url, "learners", *words), words
    assert cli.said(url, "learners", "list").splitlines() == [
        "home  online  position 20",
        "twin  online  position 0",
        "wide  online  position 0",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("keys", "list"),
        ("keys", "create", "--role", "read", "--name", "n"),
        ("learners", "list"),
        ("learners", "export", "home", "file"),
        ("audit", "list"),
        ("migrate",),
        ("serve", "--port", "0"),
    ],
    ids=" ".join,
)
def test_a_database_that_is_away_is_one_line(words: tuple[str, ...]) -> None:
    assert "the database did not answer" in cli.refusal(AWAY, *words)


@pytest.mark.parametrize(
    "words",
    [
        ("keys", "list"),
        ("keys", "revoke", "nothing"),
        ("learners", "list"),
        ("learners", "show", "home"),
        ("learners", "export", "home", "file"),
        ("learners", "import", "home", __file__),
        ("audit", "list"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_needs_a_database_makes_none(words: tuple[str, ...], tmp_path: Path) -> None:
    url = parse_url(f"sqlite:///{tmp_path}/folder/mistyped.db")
    assert "there is no database" in cli.refusal(url, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("migrate",), ("keys", "create", "--role", "read", "--name", "n")], ids=" ".join)
def test_what_begins_a_database_makes_it(words: tuple[str, ...], tmp_path: Path) -> None:
    url = parse_url(f"sqlite:///{tmp_path}/folder/new.db")
    cli.said(url, *words)
    assert cli.said(url, "learners", "list") == ""


def test_other_wrong_input_is_one_line_too(tmp_path: Path) -> None:
    url = fresh_url("sqlite", tmp_path)
    cli.said(url, "migrate")
    for words, reason in (
        (("keys", "create", "--role", "king", "--name", "n"), "--role must be one of"),
        (("keys", "create", "--role", "read", "--name", ""), "--name must be"),
        (("keys", "create", "--role", "read", "--name", "two\nlines"), "--name must not have control"),
        (("keys", "create", "--role", "read", "--name", "\x1b[2Jn"), "--name must not have control"),
        (("keys", "create", "--role", "read", "--name", "two\u2028lines"), "--name must not have control"),
        (("keys", "create", "--role", "read", "--name", "n", "--learner", "bad name/"), "--learner must be a name"),
        (("keys", "create", "--role", "read", "--name", "n", "--learner", ""), "--learner must be a name"),
        (("keys", "create", "--role", "read", "--name", "n", "--learner", "\udcff"), "--learner must be a name"),
        (("keys", "revoke", "nothing"), "no active key"),
        (("learners", "show", "nobody"), "no learner of this name"),
        (("learners", "show", "\udcff"), "UTF-8"),
        (("serve", "--port", "70000"), "the port must be"),
        (("serve", "--host", ""), "the host must be"),
        (("serve", "--database-url", f"sqlite:///{tmp_path}/new.db?mode=ro"), "takes no parameters"),
        (("serve", "--host", "0.0.0.0", "--database-url", "what"), "the database URL cannot be read"),
    ):
        assert reason in cli.refusal(url, *words), words
    assert cli.said(url, "keys", "list") == ""
    (tmp_path / "text.db").write_text("no database " * 200)
    assert "not a database" in cli.refusal(parse_url(f"sqlite:///{tmp_path}/text.db"), "keys", "list")


def test_a_key_may_have_a_name_in_any_script_and_a_learner_that_comes_later(tmp_path: Path) -> None:
    url = fresh_url("sqlite", tmp_path)
    cli.said(url, "keys", "create", "--role", "read", "--name", "Zoë’s ключ 👩‍💻", "--learner", "home-page.2")
    assert cli.said(url, "keys", "list").endswith("home-page.2  Zoë’s ключ 👩‍💻")


def test_a_database_of_a_later_version_is_refused(url: URL) -> None:
    cli.said(url, "migrate")
    database = Database(connect(url))
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    assert "cannot serve this database" in cli.refusal(url, "keys", "list")
    assert "cannot serve this database" in cli.refusal(url, "serve", "--port", "0")


def test_a_port_in_use_and_a_file_in_use_are_refused_before_anything_is_said(tmp_path: Path) -> None:
    url = fresh_url("sqlite", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in cli.refusal(url, "serve", "--port", str(port))
    with serving(url):
        assert "another holdfast serves holdfast.db" in cli.refusal(url, "serve", "--port", "0")


def test_the_first_start_says_where_it_serves_and_a_key_that_works_and_the_second_no_key(tmp_path: Path) -> None:
    server = Server(fresh_url("sqlite", tmp_path), auth="on")
    try:
        server.start()
        where, key = server.said().splitlines()
        base = f"http://127.0.0.1:{server.port}"
        assert where == f"Holdfast serves at {base}  (docs: {base}/docs)"
        headers = {"Authorization": f"Bearer {key.removeprefix('Your admin key, shown only now: ')}"}
        assert server.http.post("/v1/learners", json=LEARNER, headers=headers).status_code == 201
        assert server.http.get("/docs").status_code == 200
        assert server.stop() == 0
        server.start()
        assert server.said().splitlines() == [where]
    finally:
        server.close()


def test_it_says_its_version_and_loads_no_numpy_before_its_threads_are_pinned(tmp_path: Path) -> None:
    assert cli.said(fresh_url("sqlite", tmp_path), "--version") == f"holdfast {holdfast.__version__}"
    program = "import holdfast.cli, sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "False"
