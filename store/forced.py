"""Removal by force: a resource goes with its finalizers, and what lives on of it stays on record."""

from __future__ import annotations

from typing import Any

from resources.resource import Resource
from store import nodes, resources
from store.tx import Tx


def remove(tx: Tx, resource: Resource[Any, Any]) -> None:
    """Its children are gone and its effects are closed. Instances that live are kept, for the audit to find."""
    alive = [one for one in nodes.list_instances(tx, uid=resource.uid) if one.alive]
    resources.strip(tx, resource)
    for instance in alive:
        nodes.put_instance(tx, instance)
