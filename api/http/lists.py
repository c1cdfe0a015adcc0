"""Lists of a kind: one snapshot, selected, paged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from api.http.problems import bad_request, gone
from api.http.queries import MAX_LIMIT, Listing, token_after
from api.http.showing import beaten
from resources.canonical import Document
from resources.kind import Kind
from resources.names import wire_of
from resources.reference import Ref
from resources.resource import Resource
from resources.selectors import Selector
from resources.wire import to_wire
from store import changes, nodes, paging, resources
from store.tx import Tx

Stored = Resource[Any, Any]
STEP = 100
"""Rows read at a time where a selector may leave most of them out."""
NAMES = ("metadata.name", "metadata.key")


@dataclass(frozen=True)
class Page:
    """`revision` is the snapshot's, on later pages the first page's, so that a watch from it misses nothing."""

    items: tuple[Document, ...]
    revision: int
    token: str = ""
    remaining: int = 0


def page(tx: Tx, kind: Kind, project: str | None, listing: Listing) -> Page:
    """By project and name, code points."""
    revision = listing.revision if listing.revision is not None else changes.head(tx)
    if not listing.limit and listing.after is None:
        return Page(documents(tx, kind, _matching(candidates(tx, kind, project, listing), listing)), revision)
    found, more = _behind(tx, kind, project, listing)
    if not more:
        return Page(documents(tx, kind, found), revision)
    last = (found[-1].project, found[-1].name)
    remaining = 0 if _selects(listing) else paging.left(tx, kind.name, project, last)
    return Page(documents(tx, kind, found), revision, token_after(listing, *last, revision), remaining)


def _behind(tx: Tx, kind: Kind, project: str | None, listing: Listing) -> tuple[list[Stored], bool]:
    """What follows the last page, at most the limit, and whether there is more: read in steps, never all of it."""
    wanted = listing.limit or MAX_LIMIT
    after = listing.after
    if _indexed(listing):
        known = _matching(candidates(tx, kind, project, listing), listing)
        found = [one for one in known if after is None or (one.project, one.name) > after]
        return found[:wanted], len(found) > wanted
    found = []
    while len(found) <= wanted:
        step = paging.page(tx, kind.name, project, after, max(STEP, wanted + 1 - len(found)))
        found += _matching(step, listing)
        if not step:
            break
        after = (step[-1].project, step[-1].name)
    return found[:wanted], len(found) > wanted


def _matching(found: Iterable[Stored], listing: Listing) -> list[Stored]:
    return [one for one in found if selected(one, listing.labels, listing.fields)]


def _indexed(listing: Listing) -> bool:
    """Whether an index knows the candidates, which are few then."""
    return any(one.exact for one in (*listing.labels.expressions, *listing.fields.expressions))


def _selects(listing: Listing) -> bool:
    return bool(listing.labels.expressions or listing.fields.expressions)


def candidates(tx: Tx, kind: Kind, project: str | None, listing: Listing) -> tuple[Stored, ...]:
    """All of a kind, or fewer where an index answers a name or a label of the selectors."""
    named = next((e for e in listing.fields.expressions if e.key in NAMES and e.exact), None)
    if named is not None and (project is not None or not kind.namespaced):
        found = resources.find(tx, Ref(kind.name, wire_of(str(named.values[0])), project or ""))
        return () if found is None else (found,)
    exact = next((e for e in listing.labels.expressions if e.exact), None)
    if exact is None:
        return resources.list_all(tx, kind.name, project)
    carriers = resources.labelled(tx, kind.name, exact.key, str(exact.values[0]), project)
    return tuple(sorted(carriers, key=lambda one: (one.project, one.name)))


def documents(tx: Tx, kind: Kind, found: list[Stored]) -> tuple[Document, ...]:
    """In wire form; nodes with what their agents told since."""
    if kind.name != "node":
        return tuple(map(to_wire, found))
    facts = {known.node: known for known in nodes.all_facts(tx)}
    return tuple(beaten(to_wire(node), facts.get(node.name)) for node in found)


def selected(resource: Stored, labels: Selector, fields: Selector) -> bool:
    return labels.matches(resource.labels) and fields.matches(
        {"metadata.name": resource.name, "metadata.namespace": resource.project, "metadata.key": resource.key}
    )


def selected_document(document: Document, labels: Selector, fields: Selector) -> bool:
    """The same question about an object in wire form."""
    metadata = document.get("metadata") or {}
    name = metadata.get("name", "")
    key, project = metadata.get("key", name), metadata.get("namespace", "")
    return labels.matches(metadata.get("labels") or {}) and fields.matches(
        {"metadata.name": name, "metadata.namespace": project, "metadata.key": key}
    )


def at_least(tx: Tx, revision: int | None, *, exact: bool) -> None:
    """Checks what a client asks of the snapshot's age. Raises a problem."""
    if revision is None:
        return
    head = changes.head(tx)
    if revision > head:
        raise bad_request(f"resourceVersion: {revision} is in the future, the newest is {head}")
    if exact and revision not in (0, head):
        raise gone()
