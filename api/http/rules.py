"""What people may write: rules on a change that look at the resource as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.envelope import Submission
from api.http.problems import Problem, conflict, forbidden, stale
from resources import merge
from resources.canonical import Document
from resources.labels import SYSTEM
from resources.names import job_key
from resources.reference import Ref
from resources.registry import KINDS
from resources.resource import Resource
from resources.validation import FieldError
from resources.wire import to_wire
from store import ledger, resources
from store.pauses import PAUSED
from store.tx import Tx

Stored = Resource[Any, Any]
IMMUTABLE: Mapping[str, tuple[str, ...]] = {"node": ("pool",)}
VERBS = "rmctl-verbs"
"""The field manager of start, stop, restart and cordon."""
WRITABLE_OF_A_JOB = frozenset({("spec", "active"), ("spec", "restartedAt"), ("annotations", PAUSED), ("annotations",)})
NAMED = 3
"""How many users of a thing are named before they are only counted."""


def preconditions(live: Stored | None, submission: Submission) -> None:
    """Raises a conflict when the client speaks of another object, or of an older version of it."""
    ref = submission.ref
    if submission.uid and live is None:
        raise conflict(ref, f"is not there any more (have uid {submission.uid})")
    if submission.uid and live is not None and submission.uid != live.uid:
        raise conflict(ref, f"is another one now (have uid {submission.uid}, now {live.uid})")
    version = submission.resource_version
    if version is not None and (live is None or version != live.resource_version):
        raise stale(ref, version, None if live is None else live.resource_version)


def ignored(live: Stored | None, submission: Submission) -> list[str]:
    """A warning for each thing that the server keeps itself and that was sent with another value."""
    known: Document = to_wire(live) if live is not None else {"metadata": {}}
    told = []
    for key, value in submission.sent.items():
        standing = known.get("status") if key == "status" else known["metadata"].get(key)
        if value != standing:
            told.append(
                f"{'status' if key == 'status' else 'metadata.' + key} is kept by the server; what was sent is ignored"
            )
    return told


def immutable(live: Stored, spec: Mapping[str, Any]) -> list[FieldError]:
    return [
        FieldError(f"spec.{name}", "field is immutable")
        for name in IMMUTABLE.get(live.ref.kind, ())
        if not merge.same(live.document.get(name), spec.get(name))
    ]


def system_labels(live: Stored | None, labels: Mapping[str, str]) -> list[FieldError]:
    """Labels under rmctl/ may be repeated, never set or changed."""
    standing = live.labels if live is not None else {}
    return [
        _of_the_system(key) for key, value in labels.items() if key.startswith(SYSTEM) and standing.get(key) != value
    ]


def taken_off(live: Stored, labels: Mapping[str, str]) -> list[FieldError]:
    """Labels under rmctl/ that would be gone."""
    return [_of_the_system(key) for key in live.labels if key.startswith(SYSTEM) and key not in labels]


def _of_the_system(key: str) -> FieldError:
    return FieldError(f"metadata.labels.{key}", "labels that start with rmctl/ are the system's")


def of_a_job(live: Stored | None, ref: Ref, before: Document, after: Document) -> Problem | None:
    """Why a write on a job is refused: its bundle owns it, and verbs may only start, stop and restart it."""
    key = job_key(ref.name)
    owner = f"bundle/{key.bundle}" if key else "its bundle"
    if live is None:
        return forbidden(ref, f"a job is made by {owner} only", hint="rmctl apply -f BUNDLE.yaml")
    other = sorted(merge.changed(before, after) - WRITABLE_OF_A_JOB)
    if other:
        path = ".".join(other[0] if other[0][0] == "spec" else ("metadata", *other[0]))
        return forbidden(
            ref,
            f"belongs to {owner}: only spec.active and spec.restartedAt can be written, not {path}",
            hint=f"rmctl edit {owner}",
        )
    return None


def deletion(tx: Tx, live: Stored) -> None:
    """Raises the refusal of a deletion that would leave something dangling."""
    if live.ref.kind == "job":
        key = job_key(live.name)
        owner = f"bundle/{key.bundle}" if key else "its bundle"
        people = key.people if key else live.name
        raise forbidden(live.ref, f"belongs to {owner}", hint=f"rmctl stop {people}, or rmctl delete {owner}")
    users = _users(tx, live)
    if users:
        named = ", ".join(users[:NAMED])
        more = f" and {len(users) - NAMED} more" if len(users) > NAMED else ""
        raise conflict(live.ref, f"is in use by {named}{more}")


def _users(tx: Tx, live: Stored) -> list[str]:
    match live.ref.kind:
        case "pool":
            return _users_of_pool(tx, live.name)
        case "node":
            return sorted({str(held.owner) for held in ledger.list_allocations(tx, node=live.name)})
        case _:
            return []


def _users_of_pool(tx: Tx, pool: str) -> list[str]:
    users = []
    for kind in KINDS:
        if "pool" not in kind.spec.model_fields or kind.name == "job":
            continue
        for resource in resources.list_all(tx, kind.name):
            policy = resource.document.get("resiliencePolicy") or {}
            if pool in (resource.document.get("pool"), policy.get("pool")):
                users.append(str(resource.ref))
    return users
