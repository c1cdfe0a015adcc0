"""How a resource stands in its row, and how a row that rotted is found out."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from resources.canonical import canonical
from resources.reference import Ref
from resources.registry import BY_NAME
from resources.resource import Resource
from resources.wire import status_document
from store import parsed
from store.errors import Corrupt, TooLarge

MAX_DOCUMENT = 1024 * 1024
AnyResource = Resource[Any, Any]


def status_text(resource: AnyResource) -> str:
    return canonical(status_document(resource.status))


def row_of(resource: AnyResource) -> dict[str, Any]:
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
    return {**row, "checksum": checksum(row)}


def _bounded(what: str, text: str) -> str:
    length = len(text.encode())
    if length > MAX_DOCUMENT:
        raise TooLarge(what, length, MAX_DOCUMENT)
    return text


def checksum(row: Mapping[Any, Any]) -> int:
    """Of the parts of a row that people and controllers write, as it stands in the table."""
    parts = ("spec", "status", "labels", "annotations", "finalizers")
    return zlib.crc32("\0".join([str(row["generation"]), *(row[part] for part in parts)]).encode())


def resource_of(row: Any) -> AnyResource:
    """Raises Corrupt for a row that does not match its checksum."""
    ref = Ref(row.kind, row.name, row.project)
    if checksum(row._mapping) != row.checksum:
        raise Corrupt(ref)
    kind = BY_NAME[row.kind]
    document, spec = parsed.spec(kind.spec, row.spec)
    return kind.resource(
        ref=ref,
        uid=row.uid,
        generation=row.generation,
        resource_version=row.resource_version,
        spec=spec,
        status=parsed.status(kind.status, row.status),
        document=document,
        labels=parsed.plain(None, row.labels),
        annotations=parsed.plain(None, row.annotations),
        finalizers=tuple(parsed.plain(None, row.finalizers)),
        owner=row.owner,
        created_at=row.created_at,
        deletion_timestamp=row.deletion_timestamp,
    )
