"""Join tokens and node credentials: stored as hashes, compared by them, the raw text never kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select, update

from resources.canonical import canonical
from store.queue import hashed
from store.statements import prepared
from store.tables import credentials as table
from store.tx import Tx

JOIN_SECONDS = 15 * 60.0


@dataclass(frozen=True)
class JoinToken:
    """What a join token stands for."""

    node: str
    pool: str | None
    labels: dict[str, str]


_find = prepared(select(table).where(table.c.hash == bindparam("h")))
_insert = prepared(insert(table))
_spend = prepared(update(table).where(table.c.hash == bindparam("b_hash"), table.c.spent_at.is_(None)))


def issue_join(
    tx: Tx,
    raw: str,
    node: str,
    *,
    pool: str | None = None,
    labels: dict[str, str] | None = None,
    ttl: float = JOIN_SECONDS,
) -> None:
    """Remember a join token for one node name; it can be spent once, within `ttl` seconds."""
    _put(tx, raw, "join", node, pool=pool, labels=labels, expires_at=tx.now + ttl)


def join_token(tx: Tx, raw: str) -> JoinToken | None:
    """What an unspent, unexpired join token stands for."""
    row = tx.execute(_find, {"h": hashed(raw)}).first()
    if row is None or row.purpose != "join" or row.spent_at is not None or row.expires_at <= tx.now:
        return None
    return JoinToken(row.node, row.pool, json.loads(row.labels))


def spend(tx: Tx, raw: str) -> bool:
    """True for the one caller that spends it."""
    return bool(tx.write(_spend, {"b_hash": hashed(raw), "spent_at": tx.now}).rowcount)


def issue_node(tx: Tx, raw: str, node: str) -> None:
    """Remember a node's own credential; earlier ones of the node are void."""
    revoke_node(tx, node)
    _put(tx, raw, "node", node)


def node_of(tx: Tx, raw: str) -> str | None:
    """The node that a credential belongs to."""
    row: Row[Any] | None = tx.execute(_find, {"h": hashed(raw)}).first()
    return None if row is None or row.purpose != "node" else str(row.node)


def revoke_node(tx: Tx, node: str) -> None:
    tx.write(delete(table).where(table.c.node == node, table.c.purpose == "node"))


def _put(
    tx: Tx,
    raw: str,
    purpose: str,
    node: str,
    *,
    pool: str | None = None,
    labels: dict[str, str] | None = None,
    expires_at: float | None = None,
) -> None:
    tx.write(
        _insert,
        {
            "hash": hashed(raw),
            "purpose": purpose,
            "node": node,
            "pool": pool,
            "labels": canonical(labels or {}),
            "created_at": tx.now,
            "expires_at": expires_at,
        },
    )
