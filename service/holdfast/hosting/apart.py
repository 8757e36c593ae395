"""Use cases of a process that serves nobody: a state out of the database, or into it, without a host."""

from holdfast.errors import NotFound
from holdfast.hosting.bring import Import
from holdfast.hosting.host import microseconds
from holdfast.hosting.look import Export
from holdfast.hosting.recover import Warn, discard_ahead, revive
from holdfast.store import learners
from holdfast.store.audit import Actor
from holdfast.store.database import Connection, Database
from holdfast.store.learners import LearnerRow
from holdfast.store.log import Transaction


def export_state(database: Database, name: str, warn: Warn) -> tuple[int, bytes]:
    """The position and the state there, folded from the newest good snapshot and the log; nothing is written."""
    with database.read() as connection:
        live = revive(connection, _found(connection, name), warn)
        return Export(name).perform(live, Transaction(connection), microseconds())


def import_state(database: Database, name: str, state: bytes, by: Actor, warn: Warn) -> int:
    """The position of the import in the log. Servers on the same PostgreSQL find it there."""
    with database.write() as connection:
        row = _found(connection, name)
        transaction = Transaction(connection)
        transaction.lock(row.id)
        discard_ahead(connection, row, warn)
        position = Import(name, state, by).perform(revive(connection, row, warn), transaction, microseconds())
        transaction.flush()
    return position


def _found(connection: Connection, name: str) -> LearnerRow:
    row = learners.find(connection, name)
    if row is None:
        raise NotFound("learner", "there is no learner of this name")
    return row
