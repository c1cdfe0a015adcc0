"""Merging documents: merge patches, and the three-way merge of an apply with its owners of fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from resources.canonical import Document, canonical

Path = tuple[str, ...]
"""Keys from the root of a document; a list is one value and has no paths inside."""


class FieldConflict(NamedTuple):
    """A field that somebody else set to another value."""

    path: Path
    manager: str


def patched(target: object, patch: object) -> Any:
    """RFC 7386: objects are merged key by key, null removes, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged: Document = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = patched(merged.get(key), value)
    return merged


def leaves(document: Mapping[str, Any], above: Path = ()) -> dict[Path, Any]:
    """Every value that is no object, and every empty object, by its path."""
    found: dict[Path, Any] = {}
    for key, value in document.items():
        path = (*above, key)
        if isinstance(value, dict) and value:
            found.update(leaves(value, path))
        else:
            found[path] = value
    return found


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> frozenset[Path]:
    """Paths whose leaf differs, is new or is gone."""
    before, after = leaves(old), leaves(new)
    return frozenset(
        path
        for path in before.keys() | after.keys()
        if path not in before or path not in after or not same(before[path], after[path])
    )


def same(one: object, other: object) -> bool:
    """JSON equality: the same canonical text."""
    return canonical(one) == canonical(other)


def without_nulls(value: Any) -> Any:
    """A null in an object says nothing: it is as if the key were absent."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def only(document: Mapping[str, Any], paths: Iterable[Path]) -> Document:
    """The part of a document that stands at these leaf paths."""
    kept: Document = {}
    values = leaves(document)
    for path in sorted(paths):
        if path in values:
            _put(kept, path, values[path])
    return kept


def less(document: Mapping[str, Any], paths: Iterable[Path]) -> Document:
    """A document less what overlaps any of these paths: the field, what is inside it, what it is inside of."""
    gone = tuple(paths)
    return only(document, [leaf for leaf in leaves(document) if not any(overlap(leaf, path) for path in gone)])


def overlap(one: Path, other: Path) -> bool:
    """Whether one path is the other or leads to it."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def three_way(
    live: Mapping[str, Any],
    last: Mapping[str, Any],
    desired: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]] | None = None,
) -> Document:
    """What stands after a manager that applied `last` applies `desired`.

    Fields it named before and names no more are removed, unless somebody else owns them too; fields it names are set;
    the rest stays as it is.
    """
    wanted = leaves(desired)
    held = {path for owned in (others or {}).values() for path in leaves(owned)}
    merged: Document = _copy(live)
    for path in leaves(last):
        if path not in wanted and path not in held:
            _drop(merged, path, wanted)
    for path, value in wanted.items():
        _put(merged, path, value)
    return merged


def conflicts(
    live: Mapping[str, Any], desired: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]
) -> tuple[FieldConflict, ...]:
    """Fields of `desired` that another manager owns and that now hold another value; by path, then manager."""
    found = set()
    for path, value in leaves(desired).items():
        for manager, owned in others.items():
            clash = next((leaf for leaf in leaves(owned) if overlap(leaf, path)), None)
            if clash is not None and not _agrees(live, path, value):
                found.add(FieldConflict(path, manager))
    return tuple(sorted(found))


def _agrees(live: Mapping[str, Any], path: Path, value: object) -> bool:
    standing: Any = live
    for key in path:
        if not isinstance(standing, dict) or key not in standing:
            return False
        standing = standing[key]
    return same(standing, value) or (value == {} and isinstance(standing, dict))


def _copy(value: Any) -> Any:
    return {key: _copy(inner) for key, inner in value.items()} if isinstance(value, dict | Mapping) else value


def _put(document: Document, path: Path, value: Any) -> None:
    """Sets a leaf; an empty object leaves an object that is already there."""
    for key in path[:-1]:
        inner = document.get(key)
        if not isinstance(inner, dict):
            inner = document[key] = {}
        document = inner
    if value == {} and isinstance(document.get(path[-1]), dict):
        return
    document[path[-1]] = _copy(value)


def _drop(document: Document, path: Path, wanted: Mapping[Path, Any]) -> None:
    """Removes a leaf and the objects that it leaves empty, except those that are wanted themselves."""
    trail = [document]
    for key in path[:-1]:
        inner = trail[-1].get(key)
        if not isinstance(inner, dict):
            return
        trail.append(inner)
    if isinstance(trail[-1].get(path[-1]), dict) and trail[-1][path[-1]]:
        return
    trail[-1].pop(path[-1], None)
    for depth in range(len(path) - 1, 0, -1):
        if trail[depth] or path[:depth] in wanted:
            return
        trail[depth - 1].pop(path[depth - 1], None)
