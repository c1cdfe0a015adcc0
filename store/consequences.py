"""What a write of some kinds brings with it, in the same transaction."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from resources.node import Node
from resources.resource import Resource
from resources.template import Template
from store import credentials, ledger, nodes, queue
from store.rows import resource_of
from store.statements import prepared
from store.tables import resources as table
from store.tx import Tx

_bundles = prepared(
    select(table).where(table.c.kind == "bundle", table.c.project == bindparam("p")).order_by(table.c.name)
)


def written(tx: Tx, resource: Resource[Any, Any]) -> None:
    """A cordon or a taint closes its node in the transaction that says so; a template wakes its readers.

    A bundle that is read at this moment does not know the template yet, so a later look for readers would miss it.
    """
    match resource:
        case Node():
            change = ledger.block if resource.spec.cordoned else ledger.unblock
            change(tx, resource.name, "cordoned", "spec")
            _dedicate(tx, resource)
        case Template():
            _wake_readers(tx, resource)
        case _:
            pass


def _dedicate(tx: Tx, node: Node) -> None:
    wanted = {f"dedicated={taint.value}" for taint in node.spec.taints}
    standing = {row.reason for row in ledger.block_rows(tx, node.name) if not row.cause}
    for reason in sorted(wanted - standing):
        ledger.block(tx, node.name, reason)
    for reason in sorted(standing - wanted):
        if reason.startswith("dedicated="):
            ledger.unblock(tx, node.name, reason)


def removed(tx: Tx, resource: Resource[Any, Any]) -> None:
    """What was known of a node or of a job's instances goes with it, and what a reservation holds."""
    match resource.ref.kind:
        case "node":
            ledger.drop_node(tx, resource.name, resource.spec.pool)
            nodes.drop_facts(tx, resource.name)
            credentials.revoke_node(tx, resource.name)
        case "job":
            nodes.drop_instances(tx, resource.uid)
        case "reservation":
            for allocation in ledger.list_allocations(tx, uid=resource.uid):
                ledger.release(tx, allocation.id)
        case "template":
            _wake_readers(tx, resource)


def _wake_readers(tx: Tx, template: Resource[Any, Any]) -> None:
    for bundle in map(resource_of, tx.execute(_bundles, {"p": template.project})):
        if any(template.name == (entry.template or entry.job_name) for entry in bundle.spec.jobs):
            queue.enqueue(tx, bundle.ref)
