"""Taking one effect by its key: for whoever holds the claim of its owner."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import update

from resources.effect import EffectRecord
from store.effect_rows import record_of
from store.effects import EffectClaim
from store.queue import hashed
from store.tables import effects as table
from store.tx import Tx


def claim_one(tx: Tx, record: EffectRecord, *, token: Callable[[], str], lease: float) -> EffectClaim:
    """An open effect, which is one more attempt; the claim that an earlier pass had on it is over."""
    raw = token()
    taken = (
        update(table)
        .where(table.c.uid == record.uid, table.c.key == record.key)
        .values(
            token_hash=hashed(raw),
            expires_at=tx.now + lease,
            lease_generation=table.c.lease_generation + 1,
            attempts=table.c.attempts + 1,
            started_at=tx.now,
        )
        .returning(table)
    )
    row = tx.write(taken).one()
    return EffectClaim(record_of(row), raw, row.lease_generation)
