"""Definitions: their keys wait in a lane of their own, and their child runs are kept with their steps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("queue", sa.Column("lane", sa.Integer(), server_default="0", nullable=False))
    op.drop_index("ix_queue_available_at", table_name="queue")
    op.create_index("ix_queue_lane_available_at", "queue", ["lane", "available_at"], unique=False)
    op.drop_table("workflow_runs")  # nothing was ever written to it
    op.create_table(
        "workflow_runs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("request_key", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner_kind", sa.Text(), nullable=False),
        sa.Column("owner_project", sa.Text(), nullable=False),
        sa.Column("owner_name", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("waits_for", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("completed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_workflow_runs")),
        sa.UniqueConstraint("uid", "request_key", "attempt", name=op.f("uq_workflow_runs_uid_request_key_attempt")),
    )
    op.create_index("ix_workflow_runs_state", "workflow_runs", ["state"], unique=False)
    op.create_table(
        "workflow_steps",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("manual", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "name", name=op.f("pk_workflow_steps")),
    )
