"""The tables of child runs and their steps."""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, Table, Text, UniqueConstraint

from store.tables import metadata

workflow_runs = Table(
    "workflow_runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("uid", Text, nullable=False),
    Column("request_key", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("owner_kind", Text, nullable=False),
    Column("owner_project", Text, nullable=False),
    Column("owner_name", Text, nullable=False),
    Column("workflow", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("input", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("result", Text),
    Column("error", Text),
    Column("waits_for", Text),
    Column("created_at", Double, nullable=False),
    Column("completed_at", Double),
    Column("engine", Text),
    Column("forked_from", Text),
    UniqueConstraint("uid", "request_key", "attempt"),
    Index("ix_workflow_runs_state", "state"),
)

workflow_steps = Table(
    "workflow_steps",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("manual", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("result", Text),
    Column("error", Text),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
)
