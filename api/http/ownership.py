"""Who set which field: what every field manager holds of a resource, before and after a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from resources import merge
from resources.canonical import Document
from resources.resource import Resource
from store import applied
from store.tx import Tx


def whole(resource: Resource[Any, Any]) -> Document:
    """All that field managers may own of a resource."""
    return {
        "spec": resource.document,
        "labels": dict(resource.labels),
        "annotations": dict(resource.annotations),
    }


def shown(path: merge.Path) -> str:
    """A path as it stands in a manifest: labels and annotations live in metadata."""
    return ".".join(path if path[0] == "spec" else ("metadata", *path))


def after_apply(
    tx: Tx, uid: str, manager: str, desired: Document, owners: Mapping[str, Document], taken: Iterable[merge.Path]
) -> None:
    """The manager holds what it applied; fields that it took by force are no longer the others'."""
    mine = merge.only(desired, merge.leaves(desired))
    if owners.get(manager) != mine:
        applied.put(tx, uid, manager, mine)
    _take_away(tx, uid, {name: held for name, held in owners.items() if name != manager}, tuple(taken))


def after_update(tx: Tx, uid: str, manager: str, old: Document, new: Document, owners: Mapping[str, Document]) -> None:
    """The manager holds what it held and still stands, and what it changed, which nobody else holds any more."""
    moved = merge.changed(old, new)
    held = merge.leaves(owners.get(manager, {})).keys() | moved
    mine = merge.only(new, held)
    if mine != owners.get(manager, {}):
        applied.put(tx, uid, manager, mine)
    _take_away(tx, uid, {name: held for name, held in owners.items() if name != manager}, tuple(moved))


def _take_away(tx: Tx, uid: str, others: Mapping[str, Document], paths: tuple[merge.Path, ...]) -> None:
    for name, held in others.items():
        left = merge.less(held, paths)
        if left != held:
            applied.put(tx, uid, name, left)
