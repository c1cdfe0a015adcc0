"""How a resource stands in its row: columns, limits and the checksum over them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from resources.canonical import canonical
from resources.reference import Ref
from resources.registry import BY_NAME
from resources.resource import Resource
from resources.wire import status_document
from store.errors import Corrupt, TooLarge

MAX_DOCUMENT = 1024 * 1024
"""Bytes of a spec, and of a status."""


def status_text(resource: Resource[Any, Any]) -> str:
    return canonical(status_document(resource.status))


def written(resource: Resource[Any, Any]) -> dict[str, Any]:
    row = {
        "generation": resource.generation,
        "resource_version": resource.resource_version,
        "spec": _bounded("spec", canonical(resource.document)),
        "status": _bounded("status", status_text(resource)),
        "labels": canonical(dict(resource.labels)),
        "annotations": canonical(dict(resource.annotations)),
        "finalizers": canonical(list(resource.finalizers)),
        "deletion_timestamp": resource.deletion_timestamp,
    }
    return {**row, "checksum": _checksum(row)}


def _bounded(what: str, text: str) -> str:
    length = len(text.encode())
    if length > MAX_DOCUMENT:
        raise TooLarge(what, length, MAX_DOCUMENT)
    return text


def _checksum(row: Mapping[Any, Any]) -> int:
    parts = ("spec", "status", "labels", "annotations", "finalizers")
    return zlib.crc32("\0".join([str(row["generation"]), *(row[part] for part in parts)]).encode())


def read(row: Row[Any]) -> Resource[Any, Any]:
    values = row._mapping
    ref = Ref(row.kind, row.name, row.project)
    if _checksum(values) != row.checksum:
        raise Corrupt(ref)
    kind = BY_NAME[row.kind]
    document = json.loads(row.spec)
    return kind.resource(
        ref=ref,
        uid=row.uid,
        generation=row.generation,
        resource_version=row.resource_version,
        spec=kind.spec.model_validate(document),
        status=kind.status.model_validate_json(row.status),
        document=document,
        labels=json.loads(row.labels),
        annotations=json.loads(row.annotations),
        finalizers=tuple(json.loads(row.finalizers)),
        owner=row.owner,
        created_at=row.created_at,
        deletion_timestamp=row.deletion_timestamp,
    )
