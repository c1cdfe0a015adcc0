"""Keys: what people call the resources that have another name on the wire."""

from __future__ import annotations

from collections.abc import Iterable

from resources.reference import Ref
from resources.registry import BUILT_IN
from store import resources
from store.tx import Tx

PREFIX = "x-"


def of(tx: Tx, refs: Iterable[Ref]) -> dict[Ref, str]:
    """The keys of those that have one beside their name and are still there."""
    asked = {ref for ref in refs if ref.name.startswith(PREFIX) and ref.kind not in BUILT_IN}
    found = {ref: resources.find(tx, ref) for ref in asked}
    return {ref: one.key for ref, one in found.items() if one is not None and one.key != ref.name}
