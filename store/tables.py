"""The tables: one for all kinds of resources, and one for each thing that must be guarded."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

resources = Table(
    "resources",
    metadata,
    Column("uid", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("owner", Text),
    Column("generation", Integer, nullable=False),
    Column("resource_version", BigInteger, nullable=False),
    Column("spec", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("annotations", Text, nullable=False),
    Column("finalizers", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("deletion_timestamp", Double),
    Column("checksum", BigInteger, nullable=False),
    UniqueConstraint("kind", "project", "name"),
    Index("ix_resources_owner", "owner"),
)

labels = Table(
    "labels",
    metadata,
    Column("uid", Text, ForeignKey("resources.uid", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Index("ix_labels_kind_key_value", "kind", "key", "value"),
)

applied = Table(
    "applied",
    metadata,
    Column("uid", Text, ForeignKey("resources.uid", ondelete="CASCADE"), primary_key=True),
    Column("manager", Text, primary_key=True),
    Column("document", Text, nullable=False),
    Column("at", Double, nullable=False),
)

queue = Table(
    "queue",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("project", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("available_at", Double, nullable=False),
    Column("enqueued_at", Double, nullable=False),
    Column("wakes", BigInteger, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("conflicts", Integer, nullable=False),
    Column("lease_generation", BigInteger, nullable=False),
    Column("claimed_wakes", BigInteger),
    Column("token_hash", Text),
    Column("expires_at", Double),
    Column("last_run_at", Double),
    Column("lane", Integer, nullable=False, server_default="0"),
    Index("ix_queue_lane_available_at", "lane", "available_at"),
)

effects = Table(
    "effects",
    metadata,
    Column("uid", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("owner_kind", Text, nullable=False),
    Column("owner_project", Text, nullable=False),
    Column("owner_name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("external_ref", Text),
    Column("code", Text),
    Column("error", Text),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("completed_at", Double),
    Column("available_at", Double, nullable=False),
    Column("cancelled", Integer, nullable=False),
    Column("lease_generation", BigInteger, nullable=False),
    Column("token_hash", Text),
    Column("expires_at", Double),
    Index("ix_effects_provider_state_available_at", "provider", "state", "available_at"),
    Index("ix_effects_target_state", "target", "state"),
)

TIMED = "kind <> 'job' OR inside IS NOT NULL OR ends_at IS NOT NULL"
"""Allocations whose amounts are held for a window."""

allocations = Table(
    "allocations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("uid", Text, nullable=False),
    Column("owner_project", Text, nullable=False),
    Column("owner_name", Text, nullable=False),
    Column("instance", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("capacity_milli", BigInteger, nullable=False),
    Column("cores", Integer, nullable=False),
    Column("memory_mib", BigInteger, nullable=False),
    Column("ports", Text, nullable=False),
    Column("exclusive", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("kind", Text, nullable=False, server_default="job"),
    Column("devices", Text, nullable=False, server_default="[]"),
    Column("starts_at", Double),
    Column("ends_at", Double),
    Column("tenant", Text),
    Column("lease", Integer, nullable=False, server_default="0"),
    Column("holder", Text),
    Column("inside", Text),
    Index("ix_allocations_uid", "uid"),
    Index("ix_allocations_node", "node"),
    Index("ix_allocations_pool", "pool"),
    Index(
        "ix_allocations_timed", "node", sqlite_where=text("kind <> 'job' OR inside IS NOT NULL OR ends_at IS NOT NULL")
    ),
)

node_scalars = Table(
    "node_scalars",
    metadata,
    Column("node", Text, primary_key=True),
    Column("resource", Text, primary_key=True),
    Column("total", BigInteger, nullable=False),
    Column("capacity", BigInteger, nullable=False),
    Column("allocated", BigInteger, nullable=False),
)

node_blocks = Table(
    "node_blocks",
    metadata,
    Column("node", Text, primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("cause", Text, primary_key=True),
    Column("since", Double, nullable=False),
)

port_claims = Table(
    "port_claims",
    metadata,
    Column("node", Text, primary_key=True),
    Column("port", Text, primary_key=True),
    Column("allocation", Text, nullable=False),
    Index("ix_port_claims_allocation", "allocation"),
)

pool_rollup = Table(
    "pool_rollup",
    metadata,
    Column("pool", Text, primary_key=True),
    Column("resource", Text, primary_key=True),
    Column("capacity", BigInteger, nullable=False),
    Column("allocated", BigInteger, nullable=False),
)

devices = Table(
    "devices",
    metadata,
    Column("node", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("class", Text, nullable=False),
    Column("attributes", Text, nullable=False),
    Column("healthy", Integer, nullable=False),
    Column("bookable", Integer, nullable=False),
    Column("position", Integer, nullable=False, server_default="0"),
    Column("numa", Integer),
    Column("parent", Text),
    Column("links", Text, nullable=False, server_default="{}"),
)

placement_log = Table(
    "placement_log",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("document", Text, nullable=False),
    Index("ix_placement_log_kind_name_id", "kind", "name", "id"),
    sqlite_autoincrement=True,
)

device_bookings = Table(
    "device_bookings",
    metadata,
    Column("node", Text, primary_key=True),
    Column("device", Text, primary_key=True),
    Column("allocation", Text, primary_key=True),
    Column("units", Integer, nullable=False),
    Column("starts_at", Double, nullable=False),
    Column("ends_at", Double),
    Index("ix_device_bookings_allocation", "allocation"),
)

credentials = Table(
    "credentials",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("purpose", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("pool", Text),
    Column("labels", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("spent_at", Double),
    Index("ix_credentials_node", "node"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("uid", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("first_at", Double, nullable=False),
    Column("last_at", Double, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Index("ix_events_kind_project_name", "kind", "project", "name"),
    Index("ix_events_uid", "uid"),
    Index("ix_events_revision", "revision"),
)

changes = Table(
    "changes",
    metadata,
    Column("revision", Integer, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("type", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("uid", Text, nullable=False),
    Column("document", Text, nullable=False),
    sqlite_autoincrement=True,
)
