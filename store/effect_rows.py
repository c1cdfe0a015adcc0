"""How the record of an effect stands in its row."""

from __future__ import annotations

from typing import Any

from resources.canonical import canonical
from resources.effect import EffectRecord
from resources.reference import Ref
from store import parsed

MAX_ERROR = 8192


def row_of(made: EffectRecord) -> dict[str, Any]:
    return {
        "uid": made.uid,
        "key": made.key,
        "owner_kind": made.owner.kind,
        "owner_project": made.owner.project,
        "owner_name": made.owner.name,
        "kind": made.kind,
        "provider": made.provider,
        "target": made.target,
        "generation": made.generation,
        "fingerprint": made.fingerprint,
        "request": canonical(made.request),
        "state": made.state,
        "attempts": made.attempts,
        "created_at": made.created_at,
        "available_at": made.available_at,
        "cancelled": 0,
        "lease_generation": 0,
    }


def record_of(row: Any) -> EffectRecord:
    return EffectRecord(
        uid=row.uid,
        key=row.key,
        owner=Ref(row.owner_kind, row.owner_name, row.owner_project),
        kind=row.kind,
        provider=row.provider,
        target=row.target,
        generation=row.generation,
        fingerprint=row.fingerprint,
        request=parsed.plain(None, row.request),
        state=row.state,
        attempts=row.attempts,
        created_at=row.created_at,
        external_ref=row.external_ref,
        error=row.error,
        code=row.code,
        started_at=row.started_at,
        completed_at=row.completed_at,
        available_at=row.available_at,
        cancelled=bool(row.cancelled),
    )


def bounded(text: str) -> str:
    """At most 8,192 characters, then one ellipsis."""
    return text if len(text) <= MAX_ERROR else text[:MAX_ERROR] + "…"
