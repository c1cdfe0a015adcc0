"""How a resource stands in its row, and how a row that rotted is found out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from resources import registry
from resources.canonical import Document, canonical
from resources.reference import Ref
from resources.resource import Resource, Status
from resources.wire import status_document, wire_text
from store import parsed
from store.errors import Corrupt, TooLarge

MAX_DOCUMENT = 1024 * 1024
AnyResource = Resource[Any, Any]
V = TypeVar("V")


class Texts(NamedTuple):
    """Canonical JSON of a spec and of a status, and the values that they belong to."""

    document: Document
    spec: str
    status: Status
    status_text: str


def with_texts(resource: AnyResource) -> AnyResource:
    """The resource with its texts; what was read, or written before, is not put into words again."""
    held: Texts | None = resource.texts
    if held is None:
        spec, status = canonical(resource.document), canonical(status_document(resource.status))
    elif held.document is resource.document and held.status is resource.status:
        return resource
    else:
        spec = held.spec if held.document is resource.document else canonical(resource.document)
        same = held.status is resource.status
        status = held.status_text if same else canonical(status_document(resource.status))
    return changed(resource, texts=Texts(resource.document, spec, resource.status, status))


def changed(value: V, **values: Any) -> V:
    """A copy with other values: `dataclasses.replace` for hot paths."""
    copy: V = object.__new__(type(value))
    copy.__dict__.update(value.__dict__, **values)
    return copy


def row_of(resource: AnyResource) -> dict[str, Any]:
    """Of a resource with its texts."""
    texts: Texts = resource.texts
    row = {
        "generation": resource.generation,
        "resource_version": resource.resource_version,
        "spec": _bounded("spec", texts.spec),
        "status": _bounded("status", texts.status_text),
        "labels": canonical(dict(resource.labels)) if resource.labels else "{}",
        "annotations": canonical(dict(resource.annotations)) if resource.annotations else "{}",
        "finalizers": canonical(list(resource.finalizers)) if resource.finalizers else "[]",
        "deletion_timestamp": resource.deletion_timestamp,
    }
    row["checksum"] = checksum(row)
    return row


def change_of(resource: AnyResource) -> str:
    """The object as the wire shows it, for the log of revisions; of a resource with its texts."""
    texts: Texts = resource.texts
    return wire_text(resource, texts.spec, texts.status_text)


def _bounded(what: str, text: str) -> str:
    if len(text) * 4 > MAX_DOCUMENT and len(text.encode()) > MAX_DOCUMENT:
        raise TooLarge(what, len(text.encode()), MAX_DOCUMENT)
    return text


def checksum(row: Any) -> int:
    """Of a mapping from column to value."""
    parts = (row["spec"], row["status"], row["labels"], row["annotations"], row["finalizers"])
    return crc32("\0".join((str(row["generation"]), *parts)).encode())


def verified(row: Any) -> Any:
    """The row. Raises Corrupt for one that does not match its checksum."""
    text = f"{row.generation}\0{row.spec}\0{row.status}\0{row.labels}\0{row.annotations}\0{row.finalizers}"
    if crc32(text.encode()) != row.checksum:
        raise Corrupt(Ref(row.kind, row.name, row.project))
    return row


def rotten(rows: Iterable[Any]) -> list[str]:
    """Which resources' rows do not match their checksum. A row is a mapping from column to value."""
    return [str(Ref(row["kind"], row["name"], row["project"])) for row in rows if checksum(row) != row["checksum"]]


def resource_of(row: Any) -> AnyResource:
    """Raises Corrupt for a row that does not match its checksum."""
    verified(row)
    kind = registry.of(row.kind)
    document, spec = parsed.spec(kind.spec, row.spec)
    status = parsed.status(kind.status, row.status)
    return kind.resource(
        ref=Ref(row.kind, row.name, row.project),
        uid=row.uid,
        generation=row.generation,
        resource_version=row.resource_version,
        spec=spec,
        status=status,
        document=document,
        labels={} if row.labels == "{}" else parsed.plain(None, row.labels),
        annotations={} if row.annotations == "{}" else parsed.plain(None, row.annotations),
        finalizers=() if row.finalizers == "[]" else tuple(parsed.plain(None, row.finalizers)),
        owner=row.owner,
        created_at=row.created_at,
        deletion_timestamp=row.deletion_timestamp,
        texts=Texts(document, row.spec, status, row.status),
    )
