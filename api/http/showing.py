"""Resources as the API shows them: the wire form, and on nodes what their agents told since."""

from __future__ import annotations

from typing import Any

from api.http.envelope import DEFAULT_PROJECT
from resources.canonical import Document
from resources.facts import NodeFacts
from resources.instants import rfc3339
from resources.reference import Ref
from resources.resource import Resource
from resources.wire import to_wire
from store import nodes
from store.tx import Tx

ROTTEN = "its row is not as written"
"""It does not match its checksum."""


def way_out(ref: Ref) -> str:
    """What to do about a row that rotted."""
    where = f" -p {ref.project}" if ref.project not in ("", DEFAULT_PROJECT) else ""
    return f"rmctl restore brings a backup back, rmctl delete{where} {ref} --force --reason WHY removes it"


def show(tx: Tx, resource: Resource[Any, Any]) -> Document:
    """One resource; a node's heartbeat and agent version come from its facts and move no revision."""
    return with_facts(tx, to_wire(resource))


def with_facts(tx: Tx, document: Document) -> Document:
    """The same for a document that is already in wire form."""
    if document.get("kind") != "node":
        return document
    return beaten(document, nodes.facts(tx, document["metadata"]["name"]))


def beaten(document: Document, facts: NodeFacts | None) -> Document:
    if facts is None:
        return document
    told: Document = {"lastHeartbeat": rfc3339(float(int(facts.last_heartbeat)))}
    if facts.inventory.agent_version:
        told["agentVersion"] = facts.inventory.agent_version
    return {**document, "status": {**document.get("status", {}), **told}}
