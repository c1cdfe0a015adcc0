"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "allocations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("owner_project", sa.Text(), nullable=False),
        sa.Column("owner_name", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("capacity_milli", sa.BigInteger(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("ports", sa.Text(), nullable=False),
        sa.Column("exclusive", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allocations")),
    )
    op.create_index("ix_allocations_node", "allocations", ["node"], unique=False)
    op.create_index("ix_allocations_pool", "allocations", ["pool"], unique=False)
    op.create_index("ix_allocations_uid", "allocations", ["uid"], unique=False)
    op.create_table(
        "changes",
        sa.Column("revision", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_changes")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "credentials",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=True),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("spent_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_credentials")),
    )
    op.create_index("ix_credentials_node", "credentials", ["node"], unique=False)
    op.create_table(
        "device_bookings",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("allocation", sa.Text(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("starts_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("node", "device", "allocation", name=op.f("pk_device_bookings")),
    )
    op.create_index("ix_device_bookings_allocation", "device_bookings", ["allocation"], unique=False)
    op.create_table(
        "devices",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("class", sa.Text(), nullable=False),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.Column("healthy", sa.Integer(), nullable=False),
        sa.Column("bookable", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("node", "id", name=op.f("pk_devices")),
    )
    op.create_table(
        "effects",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("owner_kind", sa.Text(), nullable=False),
        sa.Column("owner_project", sa.Text(), nullable=False),
        sa.Column("owner_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("external_ref", sa.Text(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("completed_at", sa.Double(), nullable=True),
        sa.Column("available_at", sa.Double(), nullable=False),
        sa.Column("cancelled", sa.Integer(), nullable=False),
        sa.Column("lease_generation", sa.BigInteger(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("uid", "key", name=op.f("pk_effects")),
    )
    op.create_index(
        "ix_effects_provider_state_available_at", "effects", ["provider", "state", "available_at"], unique=False
    )
    op.create_index("ix_effects_target_state", "effects", ["target", "state"], unique=False)
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.Double(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index("ix_events_kind_project_name", "events", ["kind", "project", "name"], unique=False)
    op.create_index("ix_events_revision", "events", ["revision"], unique=False)
    op.create_index("ix_events_uid", "events", ["uid"], unique=False)
    op.create_table(
        "instances",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("ports", sa.Text(), nullable=False),
        sa.Column("code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("ready_at", sa.Double(), nullable=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("ran_seconds", sa.Double(), nullable=False),
        sa.Column("ready", sa.Integer(), nullable=False),
        sa.Column("not_ready_detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("uid", "id", name=op.f("pk_instances")),
    )
    op.create_index("ix_instances_node", "instances", ["node"], unique=False)
    op.create_table(
        "log_tails",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.Column("truncated", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("uid", "instance", name=op.f("pk_log_tails")),
    )
    op.create_table(
        "meta",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_meta")),
    )
    op.create_table(
        "node_blocks",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("node", "reason", "cause", name=op.f("pk_node_blocks")),
    )
    op.create_table(
        "node_facts",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("inventory", sa.Text(), nullable=False),
        sa.Column("last_heartbeat", sa.Double(), nullable=False),
        sa.Column("report_seq", sa.BigInteger(), nullable=False),
        sa.Column("connected", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_node_facts")),
    )
    op.create_table(
        "node_scalars",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("allocated", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("node", "resource", name=op.f("pk_node_scalars")),
    )
    op.create_table(
        "pool_rollup",
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("allocated", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "resource", name=op.f("pk_pool_rollup")),
    )
    op.create_table(
        "port_claims",
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("port", sa.Text(), nullable=False),
        sa.Column("allocation", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("node", "port", name=op.f("pk_port_claims")),
    )
    op.create_index("ix_port_claims_allocation", "port_claims", ["allocation"], unique=False)
    op.create_table(
        "queue",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("available_at", sa.Double(), nullable=False),
        sa.Column("enqueued_at", sa.Double(), nullable=False),
        sa.Column("wakes", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("conflicts", sa.Integer(), nullable=False),
        sa.Column("lease_generation", sa.BigInteger(), nullable=False),
        sa.Column("claimed_wakes", sa.BigInteger(), nullable=True),
        sa.Column("token_hash", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("last_run_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("kind", "project", "name", name=op.f("pk_queue")),
    )
    op.create_index("ix_queue_available_at", "queue", ["available_at"], unique=False)
    op.create_table(
        "resources",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("resource_version", sa.BigInteger(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("annotations", sa.Text(), nullable=False),
        sa.Column("finalizers", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("deletion_timestamp", sa.Double(), nullable=True),
        sa.Column("checksum", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_resources")),
        sa.UniqueConstraint("kind", "project", "name", name=op.f("uq_resources_kind_project_name")),
    )
    op.create_index("ix_resources_owner", "resources", ["owner"], unique=False)
    op.create_table(
        "workflow_runs",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("request_key", sa.Text(), nullable=False),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("completed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("uid", "request_key", name=op.f("pk_workflow_runs")),
    )
    op.create_table(
        "applied",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("manager", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["uid"], ["resources.uid"], name=op.f("fk_applied_uid"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("uid", "manager", name=op.f("pk_applied")),
    )
    op.create_table(
        "labels",
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["uid"], ["resources.uid"], name=op.f("fk_labels_uid"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("uid", "key", name=op.f("pk_labels")),
    )
    op.create_index("ix_labels_kind_key_value", "labels", ["kind", "key", "value"], unique=False)
