"""Resources as they were at a revision, as far as the log of changes still tells."""

from __future__ import annotations

import json

from sqlalchemy import and_, func, select

from resources.canonical import Document
from resources.reference import Ref
from resources.wire import to_wire
from store import changes, resources
from store.tables import changes as table
from store.tx import Tx


class Compacted(Exception):
    """What stood there before has been dropped from the log."""


def before(tx: Tx, revision: int, kind: str) -> dict[Ref, Document]:
    """Every resource of a kind in wire form as it stood just before a revision. Raises Compacted."""
    oldest = changes.oldest(tx)
    if 1 < oldest > revision:
        raise Compacted
    newest = (
        select(table.c.project, table.c.name, func.max(table.c.revision).label("at"))
        .where(table.c.kind == kind, table.c.revision < revision)
        .group_by(table.c.project, table.c.name)
        .subquery()
    )
    joined = select(table).join(newest, and_(table.c.revision == newest.c.at))
    found: dict[Ref, Document] = {}
    told: set[Ref] = set()
    for row in tx.execute(joined):
        ref = Ref(row.kind, row.name, row.project)
        told.add(ref)
        if row.type != "DELETED":
            found[ref] = json.loads(row.document)
    changed = {change.ref for change in _after(tx, revision, kind)}
    if changed - told and oldest > 1:
        raise Compacted
    for resource in resources.list_all(tx, kind):
        if resource.ref not in told and resource.resource_version < revision:
            found[resource.ref] = to_wire(resource)
    return found


def _after(tx: Tx, revision: int, kind: str) -> list[changes.Change]:
    found: list[changes.Change] = []
    at = revision - 1
    while part := changes.since(tx, at, kind=kind):
        found.extend(part)
        at = part[-1].revision
    return found
