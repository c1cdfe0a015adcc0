"""The tables of what agents report."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Integer, LargeBinary, Table, Text

from store.run_tables import workflow_runs
from store.tables import metadata

node_facts = Table(
    "node_facts",
    metadata,
    Column("node", Text, primary_key=True),
    Column("boot_id", Text, nullable=False),
    Column("inventory", Text, nullable=False),
    Column("last_heartbeat", Double, nullable=False),
    Column("report_seq", BigInteger, nullable=False),
    Column("connected", Integer, nullable=False),
)

instances = Table(
    "instances",
    metadata,
    Column("uid", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("job", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("pid", Integer),
    Column("ports", Text, nullable=False),
    Column("code", Integer),
    Column("signal", Integer),
    Column("reason", Text, nullable=False),
    Column("started_at", Double),
    Column("ready_at", Double),
    Column("at", Double, nullable=False),
    Column("ran_seconds", Double, nullable=False),
    Column("ready", Integer, nullable=False),
    Column("not_ready_detail", Text, nullable=False),
    Index("ix_instances_node", "node"),
)

log_tails = Table(
    "log_tails",
    metadata,
    Column("uid", Text, primary_key=True),
    Column("instance", Text, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("text", LargeBinary, nullable=False),
    Column("truncated", Integer, nullable=False),
    Column("at", Double, nullable=False),
)

schema = workflow_runs.metadata
"""All tables: those of `store.tables`, of `store.run_tables`, and these."""
