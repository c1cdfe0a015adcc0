"""Watches: a kind's changes as JSON lines, from a revision or from a snapshot, for as long as the client reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from api.http.hub import Hub, changed_within
from api.http.lists import candidates, documents, selected, selected_document
from api.http.problems import Problem, bad_request, gone
from api.http.queries import Listing
from api.http.showing import with_facts
from api.http.threads import Threads
from resources.canonical import Document
from resources.kind import Kind
from resources.selectors import Selector
from resources.wire import API_VERSION
from store import changes
from store.changes import Change
from store.tx import Tx

BATCH = 500
POLL_SECONDS = 5.0
"""How long a hint may be lost before the log is read anyway."""
BOOKMARK_SECONDS = 30.0
Shape = Callable[[Document], Document]
EVERYTHING = Selector()


@dataclass(frozen=True)
class Watch:
    """`snapshot`: begin with all there is now; else with what came after `revision` (None: after now)."""

    kind: Kind
    project: str | None
    listing: Listing
    snapshot: bool
    revision: int | None = None
    bookmarks: bool = False
    end_of_snapshot: bool = False
    """the client wants to be told where the snapshot ends"""
    timeout: float | None = None
    shape: Shape = field(default=lambda document: document)


@dataclass
class Position:
    """How far a stream is. `known` are the (project, name) pairs that match for the client.

    Up to `unsure` it is not known what matched before: the client listed at an older revision.
    """

    revision: int
    known: set[tuple[str, str]]
    unsure: int = 0


async def stream(watch: Watch, threads: Threads, hub: Hub) -> AsyncIterator[bytes]:
    """Lines of a watch. Raises a problem before the first line; later ones are told in the stream."""
    position, first = await threads.read(lambda tx: begin(tx, watch))
    return _lines(watch, threads, hub, position, first)


async def _lines(
    watch: Watch, threads: Threads, hub: Hub, position: Position, first: list[Document]
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    ends = None if watch.timeout is None else loop.time() + watch.timeout
    marked = loop.time()
    with hub.stream() as changed:
        for document in first:
            yield line("ADDED", watch.shape(document))
        if watch.end_of_snapshot:
            yield _bookmark(watch, position.revision, end=True)
        while not hub.closed and (ends is None or loop.time() < ends):
            changed.clear()
            try:
                events, caught_up = await threads.read(lambda tx: following(tx, watch, position))
            except Problem as problem:
                yield line("ERROR", problem.status())
                return
            for type_, document in events:
                yield line(type_, watch.shape(document))
            if not caught_up or hub.closed:
                continue
            if watch.bookmarks and loop.time() - marked >= BOOKMARK_SECONDS:
                marked = loop.time()
                yield _bookmark(watch, position.revision)
            wait = POLL_SECONDS if ends is None else min(POLL_SECONDS, max(0.0, ends - loop.time()))
            await changed_within(changed, wait)
        if watch.bookmarks:
            yield _bookmark(watch, position.revision)


def begin(tx: Tx, watch: Watch) -> tuple[Position, list[Document]]:
    """Where the stream starts, and the objects that it starts with. Raises a problem."""
    head = changes.head(tx)
    if watch.revision is not None and watch.revision > head:
        raise bad_request(f"resourceVersion: {watch.revision} is in the future, the newest is {head}")
    listing = watch.listing
    tx.spoilt = {}
    found = [
        one
        for one in candidates(tx, watch.kind, watch.project, listing)
        if selected(one, listing.labels, listing.fields)
    ]
    known = {(one.project, one.name) for one in found}
    if watch.snapshot:
        return Position(head, known), list(documents(tx, watch.kind, found))
    if watch.revision is None:
        return Position(head, known), []
    _kept(tx, watch.revision)
    return Position(watch.revision, known, unsure=head), []


def following(tx: Tx, watch: Watch, position: Position) -> tuple[list[tuple[str, Document]], bool]:
    """(events, whether nothing more is there yet); moves the position."""
    _kept(tx, position.revision)
    found = changes.since(tx, position.revision, kind=watch.kind.name, project=watch.project, limit=BATCH)
    caught_up = len(found) < BATCH
    position.revision = changes.head(tx) if caught_up else found[-1].revision
    told = (_told(watch, position, change) for change in found)
    return [(type_, with_facts(tx, document)) for type_, document in filter(None, told)], caught_up


def _kept(tx: Tx, revision: int) -> None:
    """Raises Expired when changes after this revision have been dropped."""
    if changes.oldest(tx) > revision + 1:
        raise gone()


def _told(watch: Watch, position: Position, change: Change) -> tuple[str, Document] | None:
    """The event as this watcher sees it: what stops matching its labels is deleted for it, what begins to is added."""
    if not selected_document(change.document, EVERYTHING, watch.listing.fields):
        return None
    key = (change.ref.project, change.ref.name)
    had = key in position.known
    unsure = change.revision <= position.unsure
    matches = watch.listing.labels.matches(change.document["metadata"].get("labels") or {})
    if change.type != "DELETED" and matches:
        position.known.add(key)
        return (change.type if had or unsure else "ADDED"), change.document
    position.known.discard(key)
    if had or (unsure and (matches or change.type == "MODIFIED")):
        return "DELETED", change.document
    return None


def _bookmark(watch: Watch, revision: int, *, end: bool = False) -> bytes:
    metadata: Document = {"resourceVersion": str(revision), "creationTimestamp": None}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    bookmark: Document = {"kind": watch.kind.name, "apiVersion": API_VERSION, "metadata": metadata}
    return line("BOOKMARK", watch.shape(bookmark))


def line(type_: str, document: Document) -> bytes:
    return json.dumps({"type": type_, "object": document}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
