"""The audit trail says who did it by name, and what exactly was done."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("audit", sa.Column("actor", sa.String(256), nullable=False, server_default=""))
    op.add_column("audit", sa.Column("detail", sa.Text, nullable=False, server_default="{}"))
