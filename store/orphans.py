"""Orphans: resources whose owner is no more, which no write leaves behind; what is found was made by hand."""

from __future__ import annotations

from sqlalchemy import select

from resources.event import Event
from store import events, resources
from store.errors import Corrupt
from store.tables import resources as table
from store.tx import Tx


def find(tx: Tx) -> tuple[str, ...]:
    """Their uids."""
    owners = table.alias()
    owned = select(owners.c.uid).where(owners.c.uid == table.c.owner).exists()
    return tuple(tx.execute(select(table.c.uid).where(table.c.owner.is_not(None), ~owned)).scalars())


def let_go(tx: Tx, uid: str) -> None:
    """Its deletion is asked for, as its owner's would have done. A row that cannot be read is left to its reader."""
    try:
        found = resources.by_uid(tx, uid)
    except Corrupt:
        return
    if found is not None and not found.deleting:
        events.add(tx, found.ref, uid, Event("Orphaned", "its owner is no more", "Warning"))
        resources.request_deletion(tx, found)
