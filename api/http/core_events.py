"""Our events as core `v1` events, so that `kubectl get events`, `events` and `describe` tell them."""

from __future__ import annotations

import hashlib

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from api.http import exchange, queries, tables
from api.http.durations import short
from api.http.endpoints import as_it_is, included
from api.http.envelope import DEFAULT_PROJECT
from api.http.problems import bad_request
from api.http.records import Asked, Records, event_document
from api.http.services import Services
from api.http.threads import Threads
from resources.canonical import Document
from resources.instants import instant
from resources.reference import Ref
from resources.registry import kind_named
from resources.selector_text import parse_fields
from resources.selectors import Selector, SelectorError
from store import changes, events
from store.tx import Tx

ABOUT = "involvedObject"
FIELDS = (
    *(f"{ABOUT}.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")),
    "reason",
    "type",
    "source",
    "reportingComponent",
    "metadata.name",
    "metadata.namespace",
)
NEWEST = 1000
"""How many are listed at most; the older ones are at `/apis/rmctl/v1/events`."""
COLUMNS = ("Last Seen", "Type", "Reason", "Object", "Message")
COMPONENT = "rmctl"


class CoreEvents:
    """List and watch, in the order in which they were last seen."""

    def __init__(self, services: Services, threads: Threads, records: Records) -> None:
        self._services = services
        self._threads = threads
        self._records = records

    def routes(self) -> list[Route]:
        paths = ("/api/v1/events", "/api/v1/namespaces/{project}/events")
        return [Route(path, self.collection, methods=["GET"]) for path in paths]

    async def collection(self, request: Request) -> Response:
        query, project = request.query_params, request.path_params.get("project")
        try:
            fields = parse_fields(query.get("fieldSelector", ""), FIELDS)
        except SelectorError as error:
            raise bad_request(str(error)) from None
        limit = min(queries.number(query, "limit") or NEWEST, NEWEST)
        about = _about(fields, project)
        as_table = tables.wanted(request.headers.get("accept", ""))
        include = included(request)

        def shown(document: Document) -> Document | None:
            found = core_event(document)
            inside = project in (None, found["metadata"]["namespace"])
            return found if inside and fields.matches(_values(found)) else None

        if queries.flag(query, "watch"):
            shape = as_it_is if not as_table else lambda found: _table([found], self._services.now(), include, {})
            position = queries.revision(query)
            if not position:
                position = await self._threads.read(changes.head)
            seconds = queries.number(query, "timeoutSeconds")
            lines = self._records.follow(
                [],
                position,
                Asked(about, project=project),
                float(seconds) if seconds else None,
                shape=lambda document: None if (found := shown(document)) is None else shape(found),
            )
            return StreamingResponse(lines, media_type=exchange.JSON)

        def read(tx: Tx) -> tuple[list[Document], int]:
            found = events.list_for(tx, about, project=None if about else project, limit=limit)
            told = map(shown, map(event_document, reversed(found)))
            return [one for one in told if one is not None], changes.head(tx)

        items, head = await self._threads.read(read)
        metadata: Document = {"resourceVersion": str(head)}
        if as_table:
            return exchange.answer(_table(items, self._services.now(), include, metadata))
        return exchange.answer({"kind": "EventList", "apiVersion": "v1", "metadata": metadata, "items": items})


def core_event(document: Document) -> Document:
    """Of an event as our own API tells it. What is in no project is told in `default`."""
    namespace = document["project"] or DEFAULT_PROJECT
    parts = (document[part] for part in ("for", "project", "type", "severity", "message"))
    same = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": f"{document['name']}.{same}",
            "namespace": namespace,
            "creationTimestamp": document["firstAt"],
            **document["metadata"],
        },
        ABOUT: {
            "kind": document["kind"],
            "apiVersion": "rmctl/v1",
            "name": document["name"],
            **({"namespace": document["project"]} if document["project"] else {}),
            **({"uid": document["uid"]} if document.get("uid") else {}),
        },
        "reason": document["type"],
        "message": document["message"],
        "type": document["severity"],
        "count": document["count"],
        "firstTimestamp": document["firstAt"],
        "lastTimestamp": document["lastAt"],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": "",
    }


def _about(fields: Selector, project: str | None) -> Ref | None:
    """The one resource that a selector names, where it does: an index knows its events."""
    named = {one.key: str(one.values[0]) for one in fields.expressions if one.exact}
    kind, name = kind_named(named.get(f"{ABOUT}.kind", "").lower()), named.get(f"{ABOUT}.name")
    if kind is None or name is None or (kind.namespaced and project is None):
        return None
    return Ref(kind.name, name, (project or "") if kind.namespaced else "")


def _values(event: Document) -> dict[str, str]:
    about = {f"{ABOUT}.{name}": value for name, value in {"namespace": "", **event[ABOUT]}.items()}
    metadata = {f"metadata.{name}": event["metadata"][name] for name in ("name", "namespace")}
    return {
        "reason": event["reason"],
        "type": event["type"],
        "source": COMPONENT,
        "reportingComponent": COMPONENT,
        **metadata,
        **about,
    }


def _table(items: list[Document], now: float, include: tables.Include, metadata: Document) -> Document:
    rows = [
        {
            "cells": [
                short(max(0.0, now - instant(one["lastTimestamp"]))),
                one["type"],
                one["reason"],
                f"{one[ABOUT]['kind']}/{one[ABOUT]['name']}",
                tables.cell(one["message"]),
            ],
            "object": tables.object_of(one, include),
        }
        for one in items
    ]
    return tables.of_rows(COLUMNS, rows, metadata)
