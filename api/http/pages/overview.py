"""What the overview shows: every resource in a line, room by node, and the latest events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from api.http.durations import age
from api.http.lists import documents
from api.http.pages.bars import Bar, Claimed, bar
from api.http.pages.links import address
from api.http.records import event_document
from api.http.summary import NO_TIERS, Tiers, condition, counted, fixed_tiers, line, moment
from resources.allocation import Allocation
from resources.canonical import Document
from resources.event import CHRONICLE
from resources.names import shown
from resources.reference import Ref
from resources.registry import every
from store import changes, events, keys, ledger, resources
from store import shown as rows
from store.tx import Tx

MOST_LINES = 1000
MOST_NODES = 200
MOST_JOBS = 8
"""Of a node, in its line."""
EVENTS = 12
NAMED = 3
"""Of the rows that rotted."""
UNITS = {"memory": " MiB"}
SAGAS = frozenset({"drain", "migration", "interruption", "reservation"})
"""Those that have come to their end are left out unless they are asked for."""
BEFORE_BUNDLES = 40


class Entry(NamedTuple):
    """One line of `rmctl get resources`, and where its page is."""

    name: str
    ready: str
    reason: str
    age: str
    where: str
    detail: str
    href: str


class Held(NamedTuple):
    """A job on a node, how much vcpu it holds there, and where its page is."""

    job: str
    vcpu: str
    href: str


class Room(NamedTuple):
    """What of a node's vcpu is claimed, drawn and in numbers; `others` are its other resources, in words."""

    node: str
    bar: Bar
    claimed: str
    free: str
    total: str
    others: str
    href: str
    jobs: tuple[Held, ...] = ()
    more: int = 0


class Happened(NamedTuple):
    ago: str
    severity: str
    type: str
    subject: str
    message: str
    href: str


class Overview(NamedTuple):
    """`sentence` is the first line, `step` the command that says more; `more` lines are left out."""

    project: str
    projects: tuple[str, ...]
    sentence: str
    step: str
    entries: tuple[Entry, ...]
    more: int
    rooms: tuple[Room, ...]
    events: tuple[Happened, ...]
    revision: int


def overview(tx: Tx, project: str, *, problems: bool, everything: bool) -> Overview:
    """Of the cluster-wide kinds and one project, in the order of `rmctl get resources`."""
    found: dict[str, list[Document]] = {}
    tx.spoilt = {}
    for kind in sorted(every(), key=lambda one: (BEFORE_BUNDLES if one.name in SAGAS else one.order, one.name)):
        stored = rows.every(tx, kind.name, project if kind.namespaced else None)
        listed = documents(tx, kind, sorted(stored, key=lambda one: one.name))
        found[kind.name] = [one for one in listed if everything or not _finished(one)]
    tiers = fixed_tiers(found.get("pool", ()))
    entries = [entry(one, tx.now, tiers) for group in found.values() for one in group]
    sentence, step = _first_line(entries)
    if tx.spoilt:
        names = ", ".join(map(str, list(tx.spoilt)[:NAMED]))
        sentence, step = f"{counted(len(tx.spoilt), 'row is', 'rows are')} not as written: {names}.", "rmctl doctor"
    shown_entries = [one for one in entries if not problems or one.ready != "True"]
    return Overview(
        project,
        projects_of(tx),
        sentence,
        step,
        tuple(shown_entries[:MOST_LINES]),
        max(0, len(shown_entries) - MOST_LINES),
        tuple(filter(None, rooms(tx, found.get("node", [])[:MOST_NODES]))),
        happened(tx, None, EVENTS, project=project),
        changes.head(tx),
    )


def entry(document: Document, now: float, tiers: Tiers = NO_TIERS) -> Entry:
    glance = line(document, now=now, tiers=tiers)
    metadata = document["metadata"]
    since = moment(metadata.get("creationTimestamp"))
    old = age(now - since) if since is not None else "-"
    name = shown(document["kind"], metadata.get("key") or metadata["name"])
    href = address(document["kind"], metadata["name"], metadata.get("namespace", ""))
    return Entry(name, glance.ready, glance.reason, old, glance.where, glance.detail, href)


def rooms(tx: Tx, shown_nodes: Sequence[Document]) -> list[Room | None]:
    """As `room`, of several."""
    one = str(shown_nodes[0]["metadata"]["name"]) if len(shown_nodes) == 1 else None
    held: dict[str, list[Allocation]] = {}
    for allocation in ledger.list_allocations(tx, node=one):
        held.setdefault(allocation.node, []).append(allocation)
    return [room(node, held.get(str(node["metadata"]["name"]), ())) for node in shown_nodes]


def room(node: Document, held: Sequence[Allocation] = ()) -> Room | None:
    """None for a node that has not said what it has."""
    capacity = (node.get("status") or {}).get("capacity") or {}
    if "vcpu" not in capacity:
        return None
    name = node["metadata"]["name"]
    total, cap, claimed = (float(capacity["vcpu"].get(key, 0)) for key in ("total", "cap", "reserved"))
    others = [
        f"{amount.get('reserved', 0):g} of {amount.get('cap', 0):g}{UNITS.get(resource, '')} {resource}"
        for resource, amount in sorted(capacity.items())
        if resource != "vcpu"
    ]
    jobs = [_held(one) for one in sorted(held, key=lambda one: (one.owner.project, one.owner.name))]
    claims = [Claimed(float(job.vcpu), f"{job.job}: {job.vcpu} vcpu") for job in jobs]
    drawn = bar(total, cap, claimed, f"{name}: {claimed:g} of {cap:g} vcpu claimed", claims)
    free = f"{max(0.0, cap - claimed):g}"
    numbers = (f"{claimed:g}", free, f"{cap:g}", ", ".join(others), address("node", name))
    return Room(name, drawn, *numbers, tuple(jobs[:MOST_JOBS]), max(0, len(jobs) - MOST_JOBS))


def _held(allocation: Allocation) -> Held:
    owner = allocation.owner
    name = shown(owner.kind, owner.name).partition("/")[2]
    return Held(name, f"{allocation.capacity_milli / 1000:g}", address(owner.kind, owner.name, owner.project))


def happened(
    tx: Tx, ref: Ref | None, limit: int, uid: str | None = None, project: str | None = None
) -> tuple[Happened, ...]:
    """Newest first."""
    found = []
    records = events.list_for(tx, ref, uid=uid, project=project, limit=limit, without=CHRONICLE)
    known = keys.of(tx, (record.ref for record in records))
    for record in records:
        told = event_document(record, known.get(record.ref))
        times = f" (×{told['count']})" if told["count"] > 1 else ""
        href = address(told["kind"], told["name"], told["project"])
        ago = age(tx.now - record.last_at)
        found.append(Happened(ago, told["severity"], told["type"], told["for"], f"{told['message']}{times}", href))
    return tuple(found)


def projects_of(tx: Tx) -> tuple[str, ...]:
    """`default`, and every project that something lives in."""
    found = {one.project for kind in every() if kind.namespaced for one in resources.list_all(tx, kind.name)}
    return tuple(sorted(found | {"default"}))


def _first_line(entries: Sequence[Entry]) -> tuple[str, str]:
    bad = [one for one in entries if one.ready != "True"]
    if not entries:
        return "Nothing is here yet.", "rmctl apply -f FILE"
    if not bad:
        return f"All is ready: {counted(len(entries), 'resource', 'resources')}.", ""
    first = next((one for one in bad if one.name.startswith("job/")), bad[0])
    are = "is" if len(bad) == 1 else "are"
    return f"{len(bad)} of {counted(len(entries), 'resource', 'resources')} {are} not ready.", f"rmctl why {first.name}"


def _finished(document: Document) -> bool:
    if document["kind"] not in SAGAS:
        return False
    if document["kind"] == "reservation":
        return (document.get("status") or {}).get("phase") == "expired"
    return any(condition(document, type_).get("status") == "True" for type_ in ("Ready", "Stalled"))
