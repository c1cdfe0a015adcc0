"""Who set which field: what every field manager holds of a resource, before and after a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from resources import merge
from resources.canonical import Document
from resources.resource import Resource
from store import applied
from store.tx import Tx


class Kept(NamedTuple):
    """A field that says one thing and stands as another, since somebody else set it."""

    field: str
    asked: Any
    standing: Any
    manager: str


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


def parted(
    clashes: tuple[merge.FieldConflict, ...], before: Mapping[str, Any], desired: Mapping[str, Any]
) -> tuple[tuple[merge.FieldConflict, ...], ...]:
    """Clashes whose field says what it said `before`, those where it says something new, and those it never named."""
    said, says = merge.leaves(before), merge.leaves(desired)
    left, taken, refused = [], [], []
    for clash in clashes:
        if clash.path not in said:
            refused.append(clash)
        elif merge.same(said[clash.path], says[clash.path]):
            left.append(clash)
        else:
            taken.append(clash)
    return tuple(left), tuple(taken), tuple(refused)


def kept(
    clashes: Iterable[merge.FieldConflict], desired: Mapping[str, Any], standing: Mapping[str, Any]
) -> tuple[Kept, ...]:
    return tuple(Kept(shown(one.path), at(desired, one.path), at(standing, one.path), one.manager) for one in clashes)


def at(document: Mapping[str, Any], path: merge.Path) -> Any:
    """What stands there; None for nothing."""
    found: Any = document
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def after_apply(
    tx: Tx, uid: str, manager: str, desired: Document, owners: Mapping[str, Document], taken: Iterable[merge.Path]
) -> None:
    """The manager holds what it applied; fields that it took by force are no longer the others'."""
    mine = merge.only(desired, merge.leaves(desired))
    if owners.get(manager) != mine:
        applied.put(tx, uid, manager, mine)
    _take_away(tx, uid, {name: held for name, held in owners.items() if name != manager}, tuple(taken))


def after_handover(tx: Tx, uid: str, before: Mapping[str, Document], owners: Mapping[str, Document]) -> None:
    """Managers hold what `owners` says, where that differs from `before`."""
    for name, held in owners.items():
        if before.get(name) != held:
            applied.put(tx, uid, name, held)


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
