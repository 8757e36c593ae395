"""Alembic's entry: the connection comes from whoever migrates (`holdfast.store.migrate`)."""

from alembic import context

from holdfast.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
