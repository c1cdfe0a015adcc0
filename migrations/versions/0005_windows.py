"""Reservations that jobs take their room from, amounts that are held for a time, and the log that replays read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
DEVICES = "node id class attributes healthy bookable position numa parent links"
CLAIM = (
    "id uid owner_project owner_name instance pool node capacity_milli cores memory_mib ports exclusive kind devices"
    " starts_at ends_at tenant lease holder inside"
)


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
        "placement_log",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_placement_log")),
        sqlite_autoincrement=True,
    )
    op.execute(
        f"INSERT INTO placement_log (kind, name, revision, document) SELECT 'devices', node, 0,"  # noqa: S608
        f" json_group_array({_object(DEVICES)}) FROM devices GROUP BY node"
    )
    op.execute(
        f"INSERT INTO placement_log (kind, name, revision, document) SELECT 'claim', id, 0, {_object(CLAIM)}"  # noqa: S608
        " FROM allocations"
    )
    op.create_index("ix_placement_log_kind_name_id", "placement_log", ["kind", "name", "id"], unique=False)


def _object(columns: str) -> str:
    pairs = (f"'{name}', {name}" for name in columns.split())
    return f"json_object({', '.join(pairs)})"
