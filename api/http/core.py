"""Core `v1` nodes, a second face of our nodes, so that `kubectl cordon` and `kubectl get nodes` work."""

from __future__ import annotations

from collections.abc import Callable

from api.http import envelope
from api.http.durations import short
from api.http.envelope import Submission
from api.http.problems import Problem
from api.http.summary import condition
from api.http.tables import Include, object_of, of_rows
from api.http.writes import Patch, Stored
from resources import merge
from resources.canonical import Document
from resources.instants import instant
from resources.registry import BY_NAME
from resources.validation import FieldError, Invalid
from resources.wire import API_VERSION
from store.tx import Tx


def core_node(document: Document) -> Document:
    """A node in wire form as a core node."""
    status = document.get("status") or {}
    spec = document["spec"]
    ready = condition(document, "Ready")
    capacity = status.get("capacity") or {}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": document["metadata"],
        "spec": {"unschedulable": True} if spec.get("cordoned") else {},
        "status": {
            "capacity": _amounts(capacity, "total"),
            "allocatable": _amounts(capacity, "cap"),
            "addresses": [{"type": "InternalIP", "address": status["address"]}] if status.get("address") else [],
            "nodeInfo": {"kubeletVersion": status.get("agentVersion", ""), "operatingSystem": "linux"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": ready.get("status", "Unknown"),
                    "reason": ready.get("reason", "Unknown"),
                    "message": ready.get("message", ""),
                    "lastTransitionTime": ready.get("lastTransitionTime"),
                    "lastHeartbeatTime": status.get("lastHeartbeat"),
                }
            ],
        },
    }


def pods_refused() -> Problem:
    """An empty list would make `kubectl drain` print "drained" while everything runs."""
    if "drain" in BY_NAME:
        return Problem(405, "MethodNotAllowed", "use rmctl drain NODE: there are no pods here")
    message = (
        "use rmctl cordon NODE, or kubectl describe nodes.rmctl NODE: "
        "there are no pods here, and this version does not drain"
    )
    return Problem(405, "MethodNotAllowed", message)


OPEN = ("labels", "annotations", "uid", "resourceVersion")
"""Of the metadata of a core node: what can be written, and on what condition."""
WRITTEN = "of a core node unschedulable, labels and annotations can be written; the rest is in nodes.rmctl"


def changed(change: Callable[[Document], Document]) -> Patch:
    """A patch of a core node, of which only a few things can be written."""

    def patch(_tx: Tx, live: Stored) -> tuple[Submission, Document]:
        before = _face(live, {"unschedulable": True} if live.spec.cordoned else {})
        after = change(before)
        told = after.get("spec") or {}
        metadata = after.get("metadata")
        if not isinstance(told, dict) or not isinstance(metadata, dict):
            raise Invalid([FieldError("metadata" if isinstance(told, dict) else "spec", "expected an object")])
        if told.get("unschedulable") not in (True, False, None):
            raise Invalid([FieldError("spec.unschedulable", "expected true or false")])
        if _fixed(after) != _fixed(before):
            raise Invalid([FieldError("spec", WRITTEN)])
        spec = dict(live.document)
        if bool(told.get("unschedulable")) != live.spec.cordoned:
            spec = {key: value for key, value in spec.items() if key not in ("cordoned", "cordonReason")}
            spec |= {"cordoned": True} if told.get("unschedulable") else {}
        document = {**metadata, "name": live.name}
        submission = envelope.read(
            {"apiVersion": API_VERSION, "kind": "node", "metadata": document, "spec": spec},
            kind=BY_NAME["node"],
            name=live.name,
        )
        desired = merge.without_nulls(
            {"spec": spec, "labels": submission.labels, "annotations": submission.annotations}
        )
        return submission, desired

    return patch


def _face(live: Stored, spec: Document) -> Document:
    metadata = {"name": live.name, "labels": dict(live.labels), "annotations": dict(live.annotations)}
    return {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def table(documents: list[Document], *, now: float, include: Include, metadata: Document) -> Document:
    """Core nodes as kubectl prints them; `documents` in our own wire form."""
    rows = [_row(core_node(document), now, include) for document in documents]
    return of_rows(("Name", "Status", "Roles", "Age", "Version"), rows, metadata)


def _row(node: Document, now: float, include: Include) -> Document:
    metadata = node["metadata"]
    ready = {"True": "Ready", "False": "NotReady"}.get(node["status"]["conditions"][0]["status"], "Unknown")
    status = f"{ready},SchedulingDisabled" if node["spec"].get("unschedulable") else ready
    version = node["status"]["nodeInfo"]["kubeletVersion"] or "-"
    cells = [metadata["name"], status, "<none>", short(now - instant(metadata["creationTimestamp"])), version]
    return {"cells": cells, "object": object_of(node, include)}


def _amounts(capacity: Document, which: str) -> Document:
    amounts: Document = {}
    if "vcpu" in capacity:
        amounts["cpu"] = f"{round(capacity['vcpu'].get(which, 0) * 1000)}m"
    if "memory" in capacity:
        amounts["memory"] = f"{int(capacity['memory'].get(which, 0))}Mi"
    return amounts


def _fixed(document: Document) -> Document:
    """What is left of a core node without what can be written."""
    spec, metadata = document.get("spec") or {}, document["metadata"]
    return {
        **document,
        "spec": {key: value for key, value in spec.items() if key != "unschedulable"},
        "metadata": {key: value for key, value in metadata.items() if key not in OPEN},
    }
