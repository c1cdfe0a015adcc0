"""What a write of some kinds brings with it, in the same transaction."""

from __future__ import annotations

from typing import Any

from resources.node import Node
from resources.resource import Resource
from store import credentials, ledger, nodes
from store.tx import Tx


def written(tx: Tx, resource: Resource[Any, Any]) -> None:
    """A cordon closes its node in the transaction that says so, and an uncordon opens it."""
    if isinstance(resource, Node):
        if resource.spec.cordoned:
            ledger.block(tx, resource.name, "cordoned", "spec")
        else:
            ledger.unblock(tx, resource.name, "cordoned", "spec")


def removed(tx: Tx, resource: Resource[Any, Any]) -> None:
    """What was known of a node or of a job's instances goes with it."""
    match resource.ref.kind:
        case "node":
            ledger.drop_node(tx, resource.name, resource.spec.pool)
            nodes.drop_facts(tx, resource.name)
            credentials.revoke_node(tx, resource.name)
        case "job":
            nodes.drop_instances(tx, resource.uid)
