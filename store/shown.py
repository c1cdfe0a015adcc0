"""Rows as texts for the wire: what lists print without making resources of it first."""

from __future__ import annotations

import json
from json.encoder import encode_basestring as quoted
from typing import Any

from sqlalchemy import bindparam, select

from resources import registry
from resources.instants import rfc3339
from resources.reference import Ref
from resources.resource import KEY_ANNOTATION
from resources.wire import API_VERSION, owner_reference, status_document
from store import labels, parsed
from store.rows import verified
from store.salvage import readable
from store.statements import prepared
from store.tables import resources as table
from store.tx import Tx

_by_ref = prepared(
    select(table).where(
        table.c.kind == bindparam("k"), table.c.project == bindparam("p"), table.c.name == bindparam("n")
    )
)
_all = select(table).where(table.c.kind == bindparam("k")).order_by(table.c.project, table.c.name)
_all_of = prepared(_all)
_all_in = prepared(_all.where(table.c.project == bindparam("p")))
_carriers = prepared(labels.carriers(table))


def find(tx: Tx, ref: Ref) -> Any:
    """The row of a resource, or None. Raises Corrupt."""
    row = tx.execute(_by_ref, {"k": ref.kind, "p": ref.project, "n": ref.name}).first()
    return None if row is None else verified(row)


def every(tx: Tx, kind: str, project: str | None = None) -> tuple[Any, ...]:
    """The rows of a kind by project and name; of one project, or of all for None."""
    rows = tx.execute(_all_of, {"k": kind}) if project is None else tx.execute(_all_in, {"k": kind, "p": project})
    return readable(tx, rows, verified)


def labelled(tx: Tx, kind: str, key: str, value: str, project: str | None = None) -> tuple[Any, ...]:
    """The rows of a kind that carry a label, by project and name."""
    rows = readable(tx, tx.execute(_carriers, {"k": kind, "l": key, "v": value}), verified)
    kept = [row for row in rows if project is None or row.project == project]
    return tuple(sorted(kept, key=lambda row: (row.project, row.name)))


def labels_of(row: Any) -> dict[str, str]:
    found: dict[str, str] = {} if row.labels == "{}" else parsed.plain(None, row.labels)
    return found


def key_of(row: Any) -> str:
    """As `Resource.key`."""
    key = parsed.plain(None, row.annotations).get(KEY_ANNOTATION) if KEY_ANNOTATION in row.annotations else None
    return str(row.name if key is None else key)


def text_of(row: Any) -> str:
    """The JSON of `to_wire`, letter by letter, put together from the texts of a row."""
    more = f',"namespace":{quoted(row.project)}' if row.project else ""
    if row.labels != "{}":
        more += f',"labels":{row.labels}'
    if row.annotations != "{}":
        more += _annotations(row.annotations)
    if row.finalizers != "[]":
        more += f',"finalizers":{row.finalizers}'
    if row.deletion_timestamp is not None:
        more += f',"deletionTimestamp":"{_at(row.deletion_timestamp)}"'
    if row.owner:
        more += f',"ownerReferences":[{_dumps(owner_reference(row.name, row.owner))}]'
    return (
        f'{{"apiVersion":"{API_VERSION}","kind":"{row.kind}","metadata":{{"name":{quoted(row.name)},'
        f'"uid":"{row.uid}","resourceVersion":"{row.resource_version}","generation":{row.generation},'
        f'"creationTimestamp":"{_at(row.created_at)}"{more}}},"spec":{row.spec},'
        f'"status":{_status(row.kind, row.status)}}}'
    )


def _annotations(text: str) -> str:
    if KEY_ANNOTATION not in text:
        return f',"annotations":{text}'
    others = dict(parsed.plain(None, text))
    key = others.pop(KEY_ANNOTATION, None)
    told = "" if key is None else f',"key":{quoted(key)}'
    return f'{told},"annotations":{_dumps(others)}' if others else told


@parsed.remembered
def _status(kind: str, text: str) -> str:
    """As this release shows it: one that an older release wrote may lack fields."""
    return _dumps(status_document(registry.of(kind).status.model_validate_json(text)))


def _at(seconds: float) -> str:
    return rfc3339(float(int(seconds)))


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
