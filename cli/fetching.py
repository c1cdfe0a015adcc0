"""Lists and single objects from the server, and the related ones that a view needs beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cli import paths
from cli.kinds import KINDS, POOL, KindName, discovered
from cli.session import Session
from cli.targets import Target
from cli.views.wire import Document, World

FINISHED_KINDS = ("drain", "migration", "interruption", "reservation")
BEFORE_BUNDLES = ("drain", "migration", "interruption", "reservation", "spare-pool")


class Listed(NamedTuple):
    """`revision` is the counter at the snapshot."""

    items: list[Document]
    revision: str


def one(session: Session, target: Target) -> Document:
    """Raises ServerRefused when it is not there."""
    return session.client.get(paths.item(target, target.project or session.project))


def every(session: Session, kind: KindName, query: Mapping[str, str] | None = None, project: str = "") -> Listed:
    """All of a kind in the project, with `kind` and `apiVersion` on each."""
    answer = session.client.get(paths.collection(kind, project or session.project), query)
    items = [{"apiVersion": "rmctl/v1", "kind": kind.name, **item} for item in answer.get("items", ())]
    return Listed(items, str((answer.get("metadata") or {}).get("resourceVersion", "")))


def served_kinds(session: Session) -> list[KindName]:
    """Every kind that this server has, an older one fewer than this rmctl knows, in the order of `get resources`."""
    own = {kind.name: kind for kind in KINDS}
    return sorted((own.get(kind.name, kind) for kind in discovered(session.client)), key=_place)


def _place(kind: KindName) -> tuple[int, str]:
    return (40 if kind.name in BEFORE_BUNDLES else kind.order, kind.name)


def world(session: Session, kinds: Iterable[str], fetched: Sequence[Document] = ()) -> World:
    """What the views of these kinds look at: a node at its pool. What was fetched is not asked for again."""
    if "node" not in set(kinds):
        return World(session.now())
    pools = [item for item in fetched if item.get("kind") == POOL.name]
    return World(session.now(), pools or every(session, POOL).items)


def finished(document: Document) -> bool:
    """A saga that has come to its end, or a reservation whose time is over."""
    if document.get("kind") not in FINISHED_KINDS:
        return False
    status: dict[str, Any] = document.get("status") or {}
    if document["kind"] == "reservation":
        return status.get("phase") == "expired"
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return any(c.get("type") in ("Ready", "Stalled") and c.get("status") == "True" for c in conditions)
