"""What is on record, read back while the server runs: structure, checksums, and the log of changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import func, select, text

from resources.canonical import Document
from resources.reference import Ref
from store.errors import Corrupt
from store.rows import verified
from store.tables import changes, resources
from store.tx import Tx

MOST = 100
"""Findings of the file's structure that are told."""


class Doubt(NamedTuple):
    """`kind`: file (its structure), row (a resource that rotted), reference (a row of nothing), log (what the newest
    change says of a resource is not what stands)."""

    kind: str
    where: str
    message: str

    def document(self) -> Document:
        return {"kind": self.kind, "where": self.where, "message": self.message}


def verify(tx: Tx) -> tuple[Doubt, ...]:
    """Everything that is not as it was written."""
    return (*_structure(tx), *_rows(tx), *_references(tx), *_log(tx))


def counts(tx: Tx) -> Document:
    """How much of it was read."""
    return {
        "resources": int(tx.execute(select(func.count()).select_from(resources)).scalar_one()),
        "changes": int(tx.execute(select(func.count()).select_from(changes)).scalar_one()),
    }


def _structure(tx: Tx) -> Iterator[Doubt]:
    found = [str(row[0]) for row in tx.execute(text(f"PRAGMA integrity_check({MOST})"))]
    if found != ["ok"]:
        yield from (Doubt("file", "state.db", line) for line in found)


def _rows(tx: Tx) -> Iterator[Doubt]:
    for row in tx.execute(select(resources)):
        try:
            verified(row)
        except Corrupt:
            yield Doubt("row", str(Ref(row.kind, row.name, row.project)), "does not match its checksum")


def _references(tx: Tx) -> Iterator[Doubt]:
    for table, rowid, parent, _ in tx.execute(text("PRAGMA foreign_key_check")):
        yield Doubt("reference", str(table), f"row {rowid} belongs to nothing in {parent}")


def _log(tx: Tx) -> Iterator[Doubt]:
    """The log may have been compacted: a resource that it does not name any more is no doubt."""
    newest = (
        select(changes.c.uid, func.max(changes.c.revision).label("revision"))
        .where(changes.c.kind != "event")
        .group_by(changes.c.uid)
        .subquery()
    )
    doubtful = select(resources, newest.c.revision).where(
        resources.c.uid == newest.c.uid, resources.c.resource_version != newest.c.revision
    )
    for row in tx.execute(doubtful):
        where = str(Ref(row.kind, row.name, row.project))
        yield Doubt("log", where, f"stands at {row.resource_version}, and its newest change is {row.revision}")
