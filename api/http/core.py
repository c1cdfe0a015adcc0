"""Core `v1` nodes, a second face of our nodes, so that `kubectl cordon` and `kubectl get nodes` work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api.http.durations import short
from api.http.envelope import Submission
from api.http.problems import Problem
from api.http.summary import condition
from api.http.tables import Include
from api.http.writes import Patch, Stored
from resources import merge
from resources.canonical import Document
from resources.instants import instant
from resources.reference import Ref
from resources.registry import BY_NAME
from resources.validation import FieldError, Invalid
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


def cordon(change: Callable[[Document], Document]) -> Patch:
    """A patch of a core node, of which only `spec.unschedulable` can be written."""

    def patch(_tx: Tx, live: Stored) -> tuple[Submission, Document]:
        before: Document = {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": live.name},
            "spec": {"unschedulable": True} if live.spec.cordoned else {},
        }
        after = change(before)
        wanted = (after.get("spec") or {}).get("unschedulable")
        if wanted not in (True, False, None):
            raise Invalid([FieldError("spec.unschedulable", "expected true or false")])
        if _less_unschedulable(after) != _less_unschedulable(before):
            raise Invalid(
                [FieldError("spec", "of a core node only unschedulable can be written; the rest is in nodes.rmctl")]
            )
        spec = {key: value for key, value in live.document.items() if key not in ("cordoned", "cordonReason")}
        if wanted:
            spec = {**live.document, "cordoned": True}
        desired = merge.without_nulls(
            {"spec": spec, "labels": dict(live.labels), "annotations": dict(live.annotations)}
        )
        return Submission(BY_NAME["node"], Ref("node", live.name), spec), desired

    return patch


def table(documents: list[Document], *, now: float, include: Include, metadata: Document) -> Document:
    """Core nodes as kubectl prints them; `documents` in our own wire form."""
    names = ("Name", "Status", "Roles", "Age", "Version")
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [
            {
                "name": name,
                "type": "string",
                "format": "name" if name == "Name" else "",
                "description": "",
                "priority": 0,
            }
            for name in names
        ],
        "rows": [_row(core_node(document), now, include) for document in documents],
    }


def _row(node: Document, now: float, include: Include) -> Document:
    metadata = node["metadata"]
    ready = {"True": "Ready", "False": "NotReady"}.get(node["status"]["conditions"][0]["status"], "Unknown")
    status = f"{ready},SchedulingDisabled" if node["spec"].get("unschedulable") else ready
    version = node["status"]["nodeInfo"]["kubeletVersion"] or "-"
    cells = [metadata["name"], status, "<none>", short(now - instant(metadata["creationTimestamp"])), version]
    shown: Any = node if include == "Object" else None
    if include == "Metadata":
        shown = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    return {"cells": cells, "object": shown}


def _amounts(capacity: Document, which: str) -> Document:
    amounts: Document = {}
    if "vcpu" in capacity:
        amounts["cpu"] = f"{round(capacity['vcpu'].get(which, 0) * 1000)}m"
    if "memory" in capacity:
        amounts["memory"] = f"{int(capacity['memory'].get(which, 0))}Mi"
    return amounts


def _less_unschedulable(document: Document) -> Document:
    spec = {key: value for key, value in (document.get("spec") or {}).items() if key != "unschedulable"}
    return {**document, "spec": spec}
