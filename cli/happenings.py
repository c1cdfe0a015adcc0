"""Events as the server keeps them: fetched for one resource or for all, and as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli import paths
from cli.durations import age, span
from cli.session import Session
from cli.tables import lines
from cli.targets import Target
from cli.views.wire import World, whole
from resources.names import shown

Event = dict[str, Any]


def events_of(session: Session, target: Target | None, limit: int) -> list[Event]:
    """Newest first."""
    query = {"project": session.project, "limit": str(limit)}
    if target is not None:
        query["for"] = f"{target.kind.name}/{target.name}"
        query["project"] = target.project or session.project
    found: list[Event] = session.client.get(paths.EVENTS, query).get("items", [])
    return found


def event_lines(events: Sequence[Event], around: World, *, whose: bool = False) -> list[str]:
    """Age, severity, type with its count, whose it is, message."""
    return lines([_cells(event, around, whose=whose) for event in events])


def _cells(event: Event, around: World, *, whose: bool) -> tuple[str, ...]:
    since = around.since(event.get("lastAt"))
    about = (shown(str(event.get("kind", "")), str(event.get("name", ""))),) if whose else ()
    left = (age(since) if since is not None else "-", str(event.get("severity", "Normal")))
    return (*left, f"{event.get('type', '')}{_repeated(event, around)}", *about, str(event.get("message", "")))


def _repeated(event: Event, around: World) -> str:
    times = whole(event.get("count"))
    if times < 2:
        return ""
    first = around.since(event.get("firstAt"))
    return f" (×{times}, first {span(first)} ago)" if first is not None else f" (×{times})"
