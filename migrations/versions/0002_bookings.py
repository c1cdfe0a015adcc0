"""Devices with all that is told of them, and allocations that book some of them, maybe for a time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("allocations", sa.Column("kind", sa.Text(), nullable=False, server_default="job"))
    op.add_column("allocations", sa.Column("devices", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("allocations", sa.Column("starts_at", sa.Double(), nullable=True))
    op.add_column("allocations", sa.Column("ends_at", sa.Double(), nullable=True))
    op.add_column("allocations", sa.Column("tenant", sa.Text(), nullable=True))
    op.add_column("allocations", sa.Column("lease", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("devices", sa.Column("position", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("devices", sa.Column("numa", sa.Integer(), nullable=True))
    op.add_column("devices", sa.Column("parent", sa.Text(), nullable=True))
    op.add_column("devices", sa.Column("links", sa.Text(), nullable=False, server_default="{}"))
