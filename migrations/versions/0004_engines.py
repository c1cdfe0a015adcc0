"""Child runs remember which engine carries them out, which keeps their steps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("workflow_runs", sa.Column("engine", sa.Text(), nullable=True))
    op.add_column("workflow_runs", sa.Column("forked_from", sa.Text(), nullable=True))
    op.execute("UPDATE workflow_runs SET engine = 'store' WHERE epoch > 0")
