"""The `Table` form that kubectl asks for: rows printed by the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from api.http.durations import short
from api.http.envelope import printable
from api.http.summary import NO_TIERS, Tiers, line, people
from resources.canonical import Document
from resources.instants import instant

Include = Literal["Metadata", "Object", "None"]
MAX_CELL = 400
COLUMNS = (
    ("Name", "The name of the resource, as it is given to other commands.", "name"),
    ("Ready", "The Ready condition; Unknown when it speaks of an older generation.", ""),
    ("Reason", "Why it is ready, or not.", ""),
    ("Age", "How long it has been there.", ""),
    ("Where", "Its node, pool or place.", ""),
    ("Detail", "What else a glance should tell.", ""),
)


def wanted(accept: str) -> bool:
    """Whether an Accept header asks for a Table before plain JSON."""
    for part in accept.split(","):
        text = part.replace(" ", "")
        if text.startswith("application/json"):
            return "as=Table" in text and "g=meta.k8s.io" in text
    return False


def table(
    documents: Sequence[Document],
    *,
    now: float,
    include: Include = "Metadata",
    metadata: Document | None = None,
    tiers: Tiers = NO_TIERS,
) -> Document:
    """`now` in unix seconds."""
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata or {},
        "columnDefinitions": [
            {"name": name, "type": "string", "format": format_, "description": description, "priority": 0}
            for name, description, format_ in COLUMNS
        ],
        "rows": [_row(document, now, include, tiers) for document in documents],
    }


def of_one(document: Document, *, now: float, include: Include = "Metadata") -> Document:
    """A watch event's or a get's object; a bookmark has no row, only its revision."""
    metadata: Document = {"resourceVersion": document["metadata"].get("resourceVersion", "")}
    bookmark = "name" not in document["metadata"]
    return table([] if bookmark else [document], now=now, include=include, metadata=metadata)


def _row(document: Document, now: float, include: Include, tiers: Tiers) -> Document:
    metadata = document["metadata"]
    glance = line(document, now=now, tiers=tiers)
    created = metadata.get("creationTimestamp")
    age = short(now - instant(created)) if created else "<unknown>"
    name = people(metadata["name"]) if document["kind"] == "job" else metadata["name"]
    cells: list[Any] = [name, glance.ready, glance.reason, age, glance.where, cell(glance.detail)]
    return {"cells": cells, "object": object_of(document, include)}


def of_rows(columns: Sequence[str], rows: Sequence[Document], metadata: Document) -> Document:
    """A table of columns of text that need no explanation."""
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [
            {
                "name": name,
                "type": "string",
                "format": "name" if name == "Name" else "",
                "description": "",
                "priority": 0,
            }
            for name in columns
        ],
        "rows": list(rows),
    }


def cell(text: str) -> str:
    return printable(text, MAX_CELL)


def object_of(document: Document, include: Include) -> Document | None:
    """What comes with a row: the whole object, its metadata, or nothing."""
    match include:
        case "None":
            return None
        case "Object":
            return document
        case "Metadata":
            return {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": document["metadata"],
            }
