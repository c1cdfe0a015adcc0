"""Fields of a client-side kubectl apply, handed to kubectl's server-side apply of the same object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from api.http import ownership
from resources import merge
from resources.canonical import Document, canonical
from resources.resource import Resource
from resources.wire import API_VERSION

BEFORE, AFTER = "kubectl-client-side-apply", "kubectl"
LAST = "kubectl.kubernetes.io/last-applied-configuration"
NOTE: merge.Path = ("annotations", LAST)
Owners = Mapping[str, Document]
Stored = Resource[Any, Any]


def moved(live: Stored, owners: Owners, manager: str) -> Owners:
    """The owners, less what the annotation says that a client-side apply set, which is kubectl's own now."""
    said = _said(live.annotations.get(LAST)) if manager == AFTER else {}
    if not said or BEFORE not in owners:
        return owners
    standing = merge.leaves(ownership.whole(live))
    mine = [
        path
        for path in merge.leaves(owners[BEFORE])
        if path != NOTE and path in said and path in standing and merge.same(said[path], standing[path])
    ]
    held = merge.leaves(owners.get(manager, {})).keys() | set(mine)
    return {
        **owners,
        BEFORE: merge.less(owners[BEFORE], mine),
        manager: merge.only(ownership.whole(live), held),
    }


def noted(live: Stored, manager: str, desired: Document, merged: Document) -> Document:
    """What is to stand, with the annotation of a client-side apply brought up to date."""
    if manager != AFTER or LAST not in live.annotations:
        return merged
    metadata: Document = {"annotations": {key: value for key, value in desired["annotations"].items() if key != LAST}}
    if desired["labels"]:
        metadata["labels"] = desired["labels"]
    metadata["name"] = live.name
    if live.ref.project:
        metadata["namespace"] = live.ref.project
    whole = {"apiVersion": API_VERSION, "kind": live.ref.kind, "metadata": metadata, "spec": desired["spec"]}
    return {**merged, "annotations": {**merged["annotations"], LAST: canonical(whole) + "\n"}}


def _said(text: str | None) -> dict[merge.Path, Any]:
    """The fields that a client-side apply named last; none for a text that is not its annotation."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        return {}
    parts = {"spec": found.get("spec"), **{part: metadata.get(part) for part in ("labels", "annotations")}}
    return merge.leaves(merge.without_nulls({key: value for key, value in parts.items() if isinstance(value, dict)}))
