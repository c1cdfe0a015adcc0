"""How a resource stands in its row, and how a row that rotted is found out."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Mapping
from typing import Any

from resources.canonical import canonical
from resources.reference import Ref
from resources.registry import BY_NAME
from resources.resource import Resource, Spec, Status
from resources.wire import status_document
from store.errors import Corrupt, TooLarge

MAX_DOCUMENT = 1024 * 1024
PARSED = 4096
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
    return {**row, "checksum": _checksum(row)}


def _bounded(what: str, text: str) -> str:
    length = len(text.encode())
    if length > MAX_DOCUMENT:
        raise TooLarge(what, length, MAX_DOCUMENT)
    return text


def _checksum(row: Mapping[Any, Any]) -> int:
    parts = ("spec", "status", "labels", "annotations", "finalizers")
    return zlib.crc32("\0".join([str(row["generation"]), *(row[part] for part in parts)]).encode())


def resource_of(row: Any) -> AnyResource:
    """Raises Corrupt for a row that does not match its checksum."""
    values = row._mapping
    ref = Ref(row.kind, row.name, row.project)
    if _checksum(values) != row.checksum:
        raise Corrupt(ref)
    kind = BY_NAME[row.kind]
    return kind.resource(
        ref=ref,
        uid=row.uid,
        generation=row.generation,
        resource_version=row.resource_version,
        spec=_spec(kind.spec, row.spec),
        status=_status(kind.status, row.status),
        document=json.loads(row.spec),
        labels=json.loads(row.labels),
        annotations=json.loads(row.annotations),
        finalizers=tuple(json.loads(row.finalizers)),
        owner=row.owner,
        created_at=row.created_at,
        deletion_timestamp=row.deletion_timestamp,
    )


@functools.lru_cache(PARSED)
def _spec(model: type[Spec], text: str) -> Spec:
    """Specs and statuses are frozen, so equal texts may share one; most reads find what was read before."""
    return model.model_validate(json.loads(text))


@functools.lru_cache(PARSED)
def _status(model: type[Status], text: str) -> Status:
    return model.model_validate_json(text)
