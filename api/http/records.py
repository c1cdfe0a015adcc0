"""The records beside the resources: events, effects, the queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from api.http import exchange, queries
from api.http.endpoints import ROOT
from api.http.envelope import DEFAULT_PROJECT, printable
from api.http.hub import Hub, changed_within
from api.http.problems import Problem, bad_request, gone
from api.http.threads import Threads
from api.http.watches import BATCH, POLL_SECONDS, line
from resources.canonical import Document
from resources.effect import EffectRecord
from resources.instants import rfc3339
from resources.names import job_key
from resources.reference import Ref
from resources.registry import kind_named
from store import changes, effects, events, keys, queue
from store.events import EventRecord
from store.tx import Tx

MAX_EVENTS = 10_000


@dataclass(frozen=True)
class Asked:
    """Whose records: of one resource, of a project with all that is in none, or of everything."""

    ref: Ref | None = None
    uid: str | None = None
    project: str | None = None

    def shows(self, about: Ref) -> bool:
        return self.ref in (None, about) and (self.project is None or about.project in (self.project, ""))


class Records:
    """Read-only: what passes, workers and agents wrote down."""

    def __init__(self, threads: Threads, hub: Hub) -> None:
        self._threads = threads
        self._hub = hub

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/events", self.events, methods=["GET"]),
            Route(f"{ROOT}/effects", self.effects, methods=["GET"]),
            Route(f"{ROOT}/queue", self.queue, methods=["GET"]),
        ]

    async def events(self, request: Request) -> Response:
        """Newest first; with `watch` oldest first and then as they come."""
        query = request.query_params
        ref = _about(query.get("for", ""), query.get("project", ""))
        limit = queries.number(query, "limit")
        limit = 100 if limit is None else limit
        if not 1 <= limit <= MAX_EVENTS:
            raise bad_request(f"limit: from 1 to {MAX_EVENTS}")
        uid = query.get("uid") or None
        project = query.get("project") or None if ref is None else None
        after = queries.revision(query)

        def read(tx: Tx) -> tuple[list[Document], int]:
            found = events.list_for(tx, ref, uid=uid, project=project, limit=limit)
            known = keys.of(tx, (one.ref for one in found))
            return [event_document(one, known.get(one.ref)) for one in found], changes.head(tx)

        if queries.flag(query, "watch"):
            first, head = ([], after) if after else await self._threads.read(read)
            timeout = queries.number(query, "timeoutSeconds")
            lines = self.follow(first[::-1], head, Asked(ref, uid, project), float(timeout) if timeout else None)
            return StreamingResponse(lines, media_type="application/json;stream=watch")
        items, head = await self._threads.read(read)
        return exchange.answer(_list("EventList", items, head))

    async def effects(self, request: Request) -> Response:
        """Newest first; of one resource by its uid oldest first."""
        uid = request.query_params.get("uid")
        asked = Asked(project=request.query_params.get("project") or None)

        def read(tx: Tx) -> tuple[list[Document], int]:
            every = effects.of(tx, uid) if uid else effects.list_all(tx)
            found = [one for one in every if asked.shows(one.owner)]
            known = keys.of(tx, (one.owner for one in found))
            return [effect_document(one, known.get(one.owner)) for one in found], changes.head(tx)

        items, head = await self._threads.read(read)
        return exchange.answer(_list("EffectList", items, head))

    async def queue(self, request: Request) -> Response:
        """By due time."""
        asked = Asked(project=request.query_params.get("project") or None)

        def read(tx: Tx) -> tuple[list[Document], int]:
            rows = {Ref(row.kind, row.name, row.project): row._mapping for row in queue.list_all(tx)}
            known = keys.of(tx, rows)
            shown = [
                called(_queue_document(row, tx.now), known.get(ref)) for ref, row in rows.items() if asked.shows(ref)
            ]
            return shown, changes.head(tx)

        items, head = await self._threads.read(read)
        return exchange.answer(_list("QueueList", items, head))

    async def follow(
        self,
        first: list[Document],
        position: int,
        asked: Asked,
        seconds: float | None,
        *,
        shape: Callable[[Document], Document | None] = lambda document: document,
    ) -> AsyncIterator[bytes]:
        """Lines of `first`, then of what came after `position`. What `shape` makes None of is left out."""
        loop = asyncio.get_running_loop()
        ends = None if seconds is None else loop.time() + seconds

        def read(tx: Tx) -> tuple[tuple[changes.Change, ...], dict[Ref, str], int]:
            if changes.oldest(tx) > position + 1:
                raise gone()
            project = asked.ref.project if asked.ref else None
            found = changes.since(tx, position, kind="event", project=project, limit=BATCH)
            known = keys.of(tx, (_subject(one) for one in found))
            return found, known, found[-1].revision if len(found) == BATCH else changes.head(tx)

        with self._hub.stream() as changed:
            for document in first:
                yield line("ADDED", document)
            while not self._hub.closed and (ends is None or loop.time() < ends):
                changed.clear()
                try:
                    found, known, position = await self._threads.read(read)
                except Problem as problem:
                    yield line("ERROR", problem.status())
                    return
                for change in found:
                    told = {**change.document, "metadata": {"resourceVersion": str(change.revision)}}
                    about = _subject(change)
                    if asked.shows(about) and asked.uid in (None, change.uid):
                        told = {"project": change.ref.project, "uid": change.uid, **told}
                        shaped = shape(called(told, known.get(about)))
                        if shaped is not None:
                            yield line(change.type, shaped)
                if not found:
                    wait = POLL_SECONDS if ends is None else min(POLL_SECONDS, max(0.0, ends - loop.time()))
                    await changed_within(changed, wait)


def _subject(change: changes.Change) -> Ref:
    return Ref(change.document["kind"], change.document["name"], change.ref.project)


def called(document: Document, key: str | None) -> Document:
    """With the key that people use for a resource of another name, where there is one."""
    if key is None:
        return document
    about = {"for": f"{document['kind']}/{key}"} if "for" in document else {}
    return {**document, **about, "resourceKey": key}


def event_document(event: EventRecord, key: str | None = None) -> Document:
    told: Document = {
        "id": event.id,
        "type": event.type,
        "severity": event.severity,
        "message": event.message,
        "kind": event.ref.kind,
        "name": event.ref.name,
        "project": event.ref.project,
        "uid": event.uid,
        "for": str(event.ref),
        "payload": event.payload,
        "count": event.count,
        "firstAt": rfc3339(event.first_at),
        "lastAt": rfc3339(event.last_at),
        "metadata": {"resourceVersion": str(event.revision)},
    }
    return called(told, key)


def effect_document(effect: EffectRecord, key: str | None = None) -> Document:
    """The request itself is not shown: what was asked stands in the owner's spec."""
    times = {
        "createdAt": effect.created_at,
        "startedAt": effect.started_at,
        "completedAt": effect.completed_at,
        "availableAt": None if effect.final else effect.available_at,
    }
    told: Document = {
        "id": effect.id,
        "uid": effect.uid,
        "key": effect.key,
        "owner": owner_document(effect.owner, key),
        "kind": effect.kind,
        "provider": effect.provider,
        "target": effect.target,
        "generation": effect.generation,
        "fingerprint": effect.fingerprint,
        "state": effect.state,
        "attempts": effect.attempts,
        "externalRef": effect.external_ref,
        "error": effect.error,
        "code": effect.code,
        **{name: None if at is None else rfc3339(at) for name, at in times.items()},
    }
    return {key: value for key, value in told.items() if value is not None}


def owner_document(owner: Ref, key: str | None) -> Document:
    return called({"kind": owner.kind, "name": owner.name, "project": owner.project}, key)


def _queue_document(row: object, now: float) -> Document:
    known = dict(row)  # type: ignore[call-overload]
    claimed = known["expires_at"] is not None and known["expires_at"] > now
    told: Document = {
        "kind": known["kind"],
        "name": known["name"],
        "project": known["project"],
        "dueAt": rfc3339(known["available_at"]),
        "enqueuedAt": rfc3339(known["enqueued_at"]),
        "wakes": known["wakes"],
        "attempts": known["errors"],
        "conflicts": known["conflicts"],
        "claimed": claimed,
    }
    return {**told, "leaseEndsAt": rfc3339(known["expires_at"])} if claimed else told


def _about(text: str, project: str) -> Ref | None:
    """`KIND/NAME`, a job in either spelling."""
    if not text:
        return None
    word, slash, name = text.partition("/")
    kind = kind_named(word)
    if kind is None or not slash or not name:
        raise bad_request(f'for: expected KIND/NAME, got "{printable(text)}"')
    key = job_key(name) if kind.name == "job" else None
    return Ref(kind.name, key.wire if key else name, (project or DEFAULT_PROJECT) if kind.namespaced else "")


def _list(kind: str, items: list[Document], revision: int) -> Document:
    return {"kind": kind, "apiVersion": "rmctl/v1", "metadata": {"resourceVersion": str(revision)}, "items": items}
