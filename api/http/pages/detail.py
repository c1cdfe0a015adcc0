"""What the page of one resource shows: the sentence, why, conditions, effects, events, spec and status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from api.http import summary
from api.http.durations import age, span
from api.http.pages.bars import Hour, hour
from api.http.pages.links import address
from api.http.pages.overview import Entry, Happened, Room, entry, happened, rooms
from api.http.records import effect_document
from api.http.services import Explanation
from api.http.showing import show
from api.http.summary import fixed_tiers, moment
from api.http.why import Section, why
from resources.canonical import Document
from resources.names import job_key, label_problem, shown
from resources.registry import BY_NAME
from resources.resource import Resource
from resources.wire import to_wire
from store import effects, resources
from store.tx import Tx

EVENTS = 50
EFFECTS = 20
TOLD_ELSEWHERE = ("Conditions", "Events", "Effects under way", "Room")
"""Sections of `why` that the page has whole."""
Stored = Resource[Any, Any]


class Cell(NamedTuple):
    """`href` is of the resource that the text names, if it names one."""

    text: str
    href: str


class Evidence(NamedTuple):
    """A section of `why`: a table, or lines that a job has printed."""

    title: str
    rows: tuple[tuple[Cell, ...], ...]
    printed: str


class Condition(NamedTuple):
    type: str
    status: str
    reason: str
    since: str
    message: str


class Effect(NamedTuple):
    kind: str
    state: str
    key: str
    target: str
    attempts: int
    took: str
    error: str


class Detail(NamedTuple):
    """`of` is its kind; `document` is the resource as `rmctl get -o json` prints it."""

    name: str
    of: str
    sentence: str
    line: Entry
    owner: tuple[str, str]
    owned: tuple[Entry, ...]
    sections: tuple[Evidence, ...]
    steps: tuple[str, ...]
    conditions: tuple[Condition, ...]
    rooms: tuple[Room, ...]
    restarts: Hour | None
    effects: tuple[Effect, ...]
    events: tuple[Happened, ...]
    document: Document


def detail(tx: Tx, resource: Stored, explanation: Explanation | None) -> Detail:
    document, project = show(tx, resource), resource.project
    tiers = fixed_tiers(map(to_wire, resources.list_all(tx, "pool")))
    reasons = why(tx, resource, explanation)
    owned = sorted(resources.owned(tx, resource.uid), key=lambda one: (one.ref.kind, one.name))
    elsewhere = (*TOLD_ELSEWHERE, "Jobs") if owned else TOLD_ELSEWHERE
    return Detail(
        shown(resource.ref.kind, resource.key),
        resource.ref.kind,
        summary.sentence(document, now=tx.now),
        entry(document, tx.now, tiers),
        _owner(tx, resource),
        tuple(entry(to_wire(one), tx.now) for one in owned),
        tuple(_evidence(one, project) for one in reasons.sections if not one.title.startswith(elsewhere)),
        reasons.steps,
        _conditions(document, tx.now),
        tuple(filter(None, rooms(tx, [document]))) if resource.ref.kind == "node" else (),
        _restarts(document, tx.now),
        _effects(tx, resource.uid),
        happened(tx, None, EVENTS, uid=resource.uid),
        document,
    )


def _evidence(section: Section, project: str) -> Evidence:
    lines = [row for row in section.rows if isinstance(row, str)]
    if lines and all(line.startswith("| ") for line in lines):
        return Evidence(section.title, (), "\n".join(line.removeprefix("| ") for line in lines))
    rows = ((row,) if isinstance(row, str) else row for row in section.rows)
    return Evidence(section.title, tuple(tuple(_cell(text, project) for text in row) for row in rows), "")


def _cell(text: str, project: str) -> Cell:
    word, slash, name = text.partition("/")
    kind = BY_NAME.get(word)
    key = job_key(name) if word == "job" else None
    if kind is None or not slash or (key is None and label_problem(name)):
        return Cell(text, "")
    return Cell(text, address(word, key.wire if key else name, project if kind.namespaced else ""))


def _owner(tx: Tx, resource: Stored) -> tuple[str, str]:
    """Name and address; empty texts where nobody owns it."""
    found = resources.by_uid(tx, resource.owner) if resource.owner is not None else None
    if found is None:
        return "", ""
    return shown(found.ref.kind, found.key), address(found.ref.kind, found.name, found.project)


def _conditions(document: Document, now: float) -> tuple[Condition, ...]:
    found: Sequence[Document] = (document.get("status") or {}).get("conditions") or ()
    return tuple(
        Condition(one["type"], one["status"], one.get("reason", ""), _since(one, now), one.get("message", ""))
        for one in found
    )


def _restarts(document: Document, now: float) -> Hour | None:
    restarts = (document.get("status") or {}).get("restarts")
    if document["kind"] != "job" or not isinstance(restarts, dict):
        return None
    at = [found for text in restarts.get("at") or () if (found := moment(text)) is not None]
    return hour(at, now, int(restarts.get("ceiling") or 0))


def _since(condition: Document, now: float) -> str:
    at = moment(condition.get("lastTransitionTime"))
    return "-" if at is None else age(now - at)


def _effects(tx: Tx, uid: str) -> tuple[Effect, ...]:
    """Newest first."""
    found = []
    for record in effects.of(tx, uid)[::-1][:EFFECTS]:
        told = effect_document(record)
        ended, begun = record.completed_at, record.started_at
        took = span(round(ended - begun, 3)) if ended is not None and begun is not None else "-"
        error = str(told.get("error", ""))
        found.append(Effect(record.kind, record.state, record.key, record.target or "-", record.attempts, took, error))
    return tuple(found)
