"""Reservations that jobs take their room from, amounts that are held for a time, and the log of nodes' devices."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("allocations", sa.Column("holder", sa.Text(), nullable=True))
    op.add_column("allocations", sa.Column("inside", sa.Text(), nullable=True))
    op.execute(
        "UPDATE allocations SET holder = (SELECT project || '/' ||"
        " replace(replace(replace(json_extract(spec, '$.holder'), 'bundle/', ''), 'job/', ''), '/', '.')"
        " FROM resources WHERE uid = allocations.uid) WHERE kind = 'reservation'"
    )
    op.create_index(
        "ix_allocations_timed",
        "allocations",
        ["node"],
        unique=False,
        sqlite_where=sa.text("kind <> 'job' OR inside IS NOT NULL OR ends_at IS NOT NULL"),
    )
    op.create_table(
        "device_log",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("devices", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device_log")),
        sqlite_autoincrement=True,
    )
    op.execute(
        "INSERT INTO device_log (node, revision, devices) SELECT node, 0, json_group_array(json_object('node', node,"
        " 'id', id, 'class', class, 'attributes', attributes, 'healthy', healthy, 'bookable', bookable, 'position',"
        " position, 'numa', numa, 'parent', parent, 'links', links)) FROM devices GROUP BY node"
    )
    op.create_index("ix_device_log_node", "device_log", ["node", "id"], unique=False)
