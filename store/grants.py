"""Who may call the API: tokens, certificates and page sessions of people, stored as hashes and never as they are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import bindparam, delete, insert, select, update

from store.queue import hashed
from store.statements import prepared
from store.tables import credentials as table
from store.tx import Tx

Purpose = Literal["user", "certificate", "page", "session", "node"]
OF_PEOPLE = ("user", "certificate", "page", "session")
NODE_ROLE = "agent"


@dataclass(frozen=True)
class Grant:
    """What somebody may call. `expires_at` in unix seconds; None: until it is revoked."""

    name: str
    role: str
    purpose: str
    created_at: float
    expires_at: float | None


_find = prepared(select(table).where(table.c.hash == bindparam("h")))
_insert = prepared(insert(table))
_spend = prepared(update(table).where(table.c.hash == bindparam("b_hash"), table.c.spent_at.is_(None)))
_listed = select(table).where(table.c.purpose.in_(("user", "certificate"))).order_by(table.c.node, table.c.purpose)


def issue(tx: Tx, raw: str, purpose: Purpose, name: str, role: str, *, ttl: float | None = None) -> None:
    """Remember a grant under its hash. A person's earlier token, or certificate, of that name is void then."""
    tx.write(delete(table).where(table.c.purpose.in_(OF_PEOPLE), table.c.expires_at <= tx.now))
    if purpose in ("user", "certificate"):
        tx.write(delete(table).where(table.c.node == name, table.c.purpose == purpose))
    values = {
        "hash": hashed(raw),
        "purpose": purpose,
        "node": name,
        "pool": None,
        "labels": json.dumps({"role": role}),
        "created_at": tx.now,
        "expires_at": None if ttl is None else tx.now + ttl,
    }
    tx.write(_insert, values)


def find(tx: Tx, raw: str, *purposes: Purpose) -> Grant | None:
    """The live grant behind a secret, if it is for one of these purposes."""
    row = tx.execute(_find, {"h": hashed(raw)}).first()
    if row is None or row.purpose not in purposes or row.spent_at is not None:
        return None
    if row.expires_at is not None and row.expires_at <= tx.now:
        return None
    return _read(row)


def spend(tx: Tx, raw: str) -> Grant | None:
    """What a page's address stands for, to the one caller that spends it."""
    grant = find(tx, raw, "page")
    if grant is None or not tx.write(_spend, {"b_hash": hashed(raw), "spent_at": tx.now}).rowcount:
        return None
    return grant


def list_all(tx: Tx) -> tuple[Grant, ...]:
    """Tokens and certificates of people, by name; what has run out is not among them."""
    return tuple(_read(row) for row in tx.execute(_listed) if row.expires_at is None or row.expires_at > tx.now)


def revoke(tx: Tx, name: str) -> int:
    """How many grants of that name there were, sessions included."""
    return int(tx.write(delete(table).where(table.c.node == name, table.c.purpose.in_(OF_PEOPLE))).rowcount)


def _read(row: Any) -> Grant:
    role = NODE_ROLE if row.purpose == "node" else str(json.loads(row.labels).get("role", ""))
    return Grant(row.node, role, row.purpose, row.created_at, row.expires_at)
