"""Events as the server keeps them: fetched for one resource or for all, and as lines for people."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from cli import paths
from cli.durations import age, span
from cli.errors import Unreachable
from cli.session import Session
from cli.tables import lines
from cli.targets import Target
from cli.views.wire import World, named_as, whole
from cli.watching import RETRY_SECONDS, Outage

Event = dict[str, Any]


def events_of(session: Session, target: Target | None, limit: int) -> list[Event]:
    """Newest first."""
    found: list[Event] = session.client.get(paths.EVENTS, _query(session, target, limit)).get("items", [])
    return found


def happening(session: Session, target: Target | None, limit: int) -> Iterator[Event]:
    """The newest so many, oldest first, then what comes; over broken connections, for ever."""
    query = {**_query(session, target, limit), "watch": "1"}
    outage = Outage(session)
    while True:
        try:
            for line in session.client.stream(paths.EVENTS, query):
                outage.ended()
                found = json.loads(line)
                event = found.get("object") or {}
                if found.get("type") == "ERROR":
                    query.pop("resourceVersion", None)
                    break
                query["resourceVersion"] = str((event.get("metadata") or {}).get("resourceVersion") or "")
                yield event
        except Unreachable as error:
            outage.goes_on(error)
            time.sleep(RETRY_SECONDS)


def _query(session: Session, target: Target | None, limit: int) -> dict[str, str]:
    query = {"project": session.project, "limit": str(limit)}
    if target is not None:
        query["for"] = f"{target.kind.name}/{target.name}"
        query["project"] = target.project or session.project
    return query


def event_lines(events: Sequence[Event], around: World, *, whose: bool = False, least: Sequence[int] = ()) -> list[str]:
    """Age, severity, type with its count, whose it is, message."""
    return lines([_cells(event, around, whose=whose) for event in events], least=least)


def _cells(event: Event, around: World, *, whose: bool) -> tuple[str, ...]:
    since = around.since(event.get("lastAt"))
    about = (named_as(event),) if whose else ()
    left = (age(since) if since is not None else "-", str(event.get("severity", "Normal")))
    return (*left, f"{event.get('type', '')}{_repeated(event, around)}", *about, str(event.get("message", "")))


def _repeated(event: Event, around: World) -> str:
    times = whole(event.get("count"))
    if times < 2:
        return ""
    first = around.since(event.get("firstAt"))
    return f" (×{times}, first {span(first)} ago)" if first is not None else f" (×{times})"
