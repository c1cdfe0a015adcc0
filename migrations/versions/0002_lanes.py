"""The queue has lanes: keys of definitions wait in one of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("queue", sa.Column("lane", sa.Integer(), server_default="0", nullable=False))
    op.drop_index("ix_queue_available_at", table_name="queue")
    op.create_index("ix_queue_lane_available_at", "queue", ["lane", "available_at"], unique=False)
