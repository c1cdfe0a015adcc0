"""Numbers about all there is, counted by the database: for gauges that are read every few seconds."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import case, func, select

from store.tables import effects as effects_table
from store.tables import resources as table
from store.tx import Tx


class Standing(NamedTuple):
    """A condition with a value that some resources of a kind have."""

    kind: str
    condition: str
    status: str
    reason: str


_condition = func.json_each(table.c.status, "$.conditions").table_valued("value")
_type, _status, _reason = (func.json_extract(_condition.c.value, f"$.{name}") for name in ("type", "status", "reason"))
_observed = func.coalesce(func.json_extract(table.c.status, "$.observedGeneration"), 0)
_now = case((_observed < table.c.generation, "Unknown"), else_=_status)
"""What a status says of an older spec is not known of this one."""
_standing = (
    select(table.c.kind, _type, _now, _reason, func.count())
    .select_from(table.join(_condition, table.c.uid.is_not(None)))
    .group_by(table.c.kind, _type, _now, _reason)
)
_since = func.json_extract(table.c.status, "$.waitingSince")
_waiting = select(table.c.kind, func.min(_since)).where(_since.is_not(None)).group_by(table.c.kind)
_open = (
    select(effects_table.c.provider, effects_table.c.state, func.count())
    .where(effects_table.c.completed_at.is_(None))
    .group_by(effects_table.c.provider, effects_table.c.state)
)


def conditions(tx: Tx) -> dict[Standing, int]:
    return {Standing(*map(str, row[:4])): int(row[4]) for row in tx.execute(_standing)}


def waiting_since(tx: Tx) -> dict[str, str]:
    """Kind to the instant since which its oldest has waited, as it is written in a status."""
    return {str(kind): str(since) for kind, since in tx.execute(_waiting)}


def open_effects(tx: Tx) -> dict[tuple[str, str], int]:
    """(provider, state) to how many have not come to their end."""
    return {(str(provider), str(state)): int(number) for provider, state, number in tx.execute(_open)}
