"""Lists of a kind: one snapshot, selected, paged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from api.http import exchange
from api.http.problems import bad_request, gone
from api.http.queries import MAX_LIMIT, Listing, token_after
from api.http.showing import beaten
from resources.canonical import Document
from resources.kind import Kind
from resources.names import wire_of
from resources.reference import Ref
from resources.selectors import Selector
from store import changes, nodes, paging, shown
from store.tx import Tx

STEP = 100
"""Rows read at a time where a selector may leave most of them out."""
NAMES = ("metadata.name", "metadata.key")


@dataclass(frozen=True)
class Page:
    """`items` are objects in wire form, as JSON.

    `revision` is the snapshot's, on later pages the first page's, so that a watch from it misses nothing.
    """

    items: tuple[str, ...]
    revision: int
    token: str = ""
    remaining: int = 0

    @property
    def documents(self) -> list[Document]:
        return [json.loads(item) for item in self.items]


def page(tx: Tx, kind: Kind, project: str | None, listing: Listing) -> Page:
    """By project and name, code points."""
    revision = listing.revision if listing.revision is not None else changes.head(tx)
    if not listing.limit and listing.after is None:
        return Page(texts(tx, kind, _matching(candidates(tx, kind, project, listing), listing)), revision)
    found, more = _behind(tx, kind, project, listing)
    if not more:
        return Page(texts(tx, kind, found), revision)
    last = (found[-1].project, found[-1].name)
    remaining = 0 if _selects(listing) else paging.left(tx, kind.name, project, last)
    return Page(texts(tx, kind, found), revision, token_after(listing, *last, revision), remaining)


def _behind(tx: Tx, kind: Kind, project: str | None, listing: Listing) -> tuple[list[Any], bool]:
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


def _matching(found: Iterable[Any], listing: Listing) -> list[Any]:
    if not _selects(listing):
        return list(found)
    return [one for one in found if selected(one, listing.labels, listing.fields)]


def _indexed(listing: Listing) -> bool:
    """Whether an index knows the candidates, which are few then."""
    return any(one.exact for one in (*listing.labels.expressions, *listing.fields.expressions))


def _selects(listing: Listing) -> bool:
    return bool(listing.labels.expressions or listing.fields.expressions)


def candidates(tx: Tx, kind: Kind, project: str | None, listing: Listing) -> tuple[Any, ...]:
    """Rows of all of a kind, or of fewer where an index answers a name or a label of the selectors."""
    named = next((e for e in listing.fields.expressions if e.key in NAMES and e.exact), None)
    if named is not None and (project is not None or not kind.namespaced):
        found = shown.find(tx, Ref(kind.name, wire_of(str(named.values[0])), project or ""))
        return () if found is None else (found,)
    exact = next((e for e in listing.labels.expressions if e.exact), None)
    if exact is None:
        return shown.every(tx, kind.name, project)
    return shown.labelled(tx, kind.name, exact.key, str(exact.values[0]), project)


def texts(tx: Tx, kind: Kind, found: Sequence[Any]) -> tuple[str, ...]:
    """Rows in wire form, as JSON; nodes with what their agents told since."""
    return tuple(map(exchange.dumps, documents(tx, kind, found)) if kind.name == "node" else map(shown.text_of, found))


def documents(tx: Tx, kind: Kind, found: Sequence[Any]) -> tuple[Document, ...]:
    """The same before it is put into words."""
    facts = {known.node: known for known in nodes.all_facts(tx)} if kind.name == "node" else {}
    return tuple(beaten(json.loads(shown.text_of(row)), facts.get(row.name)) for row in found)


def selected(row: Any, labels: Selector, fields: Selector) -> bool:
    return labels.matches(shown.labels_of(row)) and fields.matches(
        {"metadata.name": row.name, "metadata.namespace": row.project, "metadata.key": shown.key_of(row)}
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
