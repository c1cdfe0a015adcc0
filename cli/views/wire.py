"""Reading wire objects: conditions, ages and counts, whatever a server of another version leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from resources import deletion
from resources.instants import instant
from resources.names import shown

Document = dict[str, Any]
PREDICATES = frozenset(
    "is has runs waits starts stops ends keeps recovers takes moves must may cannot was does joins goes".split()
)
"""What a clause begins with that needs a subject before it."""


class World(NamedTuple):
    """What a view may look at beside its object. `now` in unix seconds; `pools` as far as they were fetched."""

    now: float
    pools: Sequence[Document] = ()

    def since(self, text: object) -> float | None:
        """Seconds since an instant on the wire; None for what is none."""
        at = moment(text)
        return None if at is None else self.now - at

    def fixed_tier(self, pool: str) -> str:
        """The tier of a pool's registered nodes; empty when it is not known."""
        found = next((one for one in self.pools if name(one) == pool), {})
        tiers = spec(found).get("tiers") or ()
        return next((str(tier.get("name")) for tier in tiers if tier.get("scaleOut") == "fixed"), "")


class Row(NamedTuple):
    """The two columns that a kind fills itself."""

    where: str = "-"
    detail: str = ""


class Fact(NamedTuple):
    """One cell of the grid in `describe`."""

    label: str
    text: str


class Ready(NamedTuple):
    """The Ready condition as people are told it: Unknown while the status is behind the spec."""

    status: str = "Unknown"
    reason: str = "-"
    message: str = ""


def spec(document: Document) -> Document:
    return _mapping(document, "spec")


def status(document: Document) -> Document:
    return _mapping(document, "status")


def metadata(document: Document) -> Document:
    return _mapping(document, "metadata")


def _mapping(document: Document, key: str) -> Document:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def name(document: Document) -> str:
    return str(metadata(document).get("name", ""))


def named_as(record: Document) -> str:
    """`kind/name` of the resource that a record is about, as people call it."""
    return shown(str(record.get("kind", "")), str(record.get("resourceKey") or record.get("name", "")))


def namespace(document: Document) -> str:
    return str(metadata(document).get("namespace", ""))


def title(document: Document) -> str:
    """`kind/name` for people."""
    return shown(str(document.get("kind", "")), str(metadata(document).get("key") or name(document)))


def moment(text: object) -> float | None:
    """Unix seconds of an instant on the wire."""
    try:
        return instant(text)
    except ValueError:
        return None


def conditions(document: Document) -> list[Document]:
    found = status(document).get("conditions")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def condition(document: Document, kind: str) -> Document:
    """The one of that type; empty when it is absent."""
    return next((one for one in conditions(document) if one.get("type") == kind), {})


def holds(document: Document, kind: str) -> bool:
    return condition(document, kind).get("status") == "True"


def is_behind(document: Document) -> bool:
    """Whether the status speaks of an older spec."""
    generation = metadata(document).get("generation", 0)
    observed = status(document).get("observedGeneration", 0)
    return isinstance(generation, int) and isinstance(observed, int) and observed < generation


def ready(document: Document) -> Ready:
    found = condition(document, "Ready")
    deleting = metadata(document).get("deletionTimestamp") is not None
    reason, message = str(found.get("reason") or "-"), str(found.get("message") or "")
    if deleting:
        return Ready("False", "Deleting", message if reason in deletion.CAUSES else "")
    if not found or is_behind(document):
        return Ready()
    return Ready(str(found.get("status", "Unknown")), reason, message)


def deleting(document: Document) -> str:
    """The clause of one that is being deleted, with what it still waits for; empty for any other."""
    since = metadata(document).get("deletionTimestamp")
    if since is None:
        return ""
    left = [str(name) for name in metadata(document).get("finalizers") or ()]
    return deletion.clause(str(since), ready(document).message, left)


def told(state: Ready) -> str:
    """The Ready message as a clause of its own; one that ends with a list of reasons gets no full stop."""
    if state.reason == "-":
        return "has not been looked at since it was last changed."
    if state.message:
        return state.message if state.message[-1] in ".!?" or ": " in state.message else f"{state.message}."
    return f"is {'ready' if state.status == 'True' else 'not ready'} ({state.reason})."


def begun(name: str, clause: str) -> str:
    """One sentence of a name and what is told of it: `job/x runs on n`, `bundle/x: 4 of 4 jobs run`."""
    first = clause.partition(" ")[0]
    return f"{name} {clause}" if first in PREDICATES else f"{name}: {clause}"


def whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def number(value: object) -> str:
    """Without a needless `.0`."""
    return f"{round(value, 3):g}" if isinstance(value, int | float) and not isinstance(value, bool) else "0"
