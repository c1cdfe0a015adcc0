"""Writes: create, replace, apply and delete one resource inside a transaction, by one path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import replace as replace_with
from typing import Any, Literal

from api.http import handover, ownership, pruning, rules
from api.http.envelope import Submission
from api.http.lookups import Everything
from api.http.problems import (
    Cause,
    Problem,
    already_exists,
    being_deleted,
    conflict,
    forbidden,
    invalid,
    not_found,
    stale,
)
from api.http.queries import How
from api.http.restarts import caused_by
from controllers import admission
from resources import canonical, merge
from resources.canonical import Document
from resources.defined import status_of
from resources.kind import Undefined
from resources.labels import SYSTEM
from resources.reference import Ref
from resources.registry import BUILT_IN, BY_NAME
from resources.resource import Resource, Status
from resources.validation import Invalid
from store import applied, resources
from store.tx import Tx

Stored = Resource[Any, Any]
Outcome = Literal["created", "configured", "unchanged"]
Patch = Callable[[Tx, Stored], tuple[Submission, Document]]
"""Makes a submission, and what is desired of it, out of the object as it stands."""
MAX_SPEC_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Written:
    """What became of a write. `restarts` are the running jobs that it restarts, as people call them."""

    resource: Stored
    outcome: Outcome
    warnings: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()
    hint: str = ""
    kept: tuple[ownership.Kept, ...] = ()
    """Fields that were left to those who set them."""
    spec_moved: bool = True


Write = Callable[[Tx], Written]


def create(tx: Tx, submission: Submission, how: How, lookups: Everything) -> Written:
    """Raises a problem; AlreadyExists for a name that is taken."""
    live = resources.find(tx, submission.ref)
    if live is not None:
        since = live.deletion_timestamp
        raise already_exists(live.ref) if since is None else being_deleted(live.ref, since)
    warnings = rules.ignored(None, submission)
    warnings += [
        f"metadata.{name} is ignored when a resource is created"
        for name, value in (("uid", submission.uid), ("resourceVersion", submission.resource_version))
        if value is not None
    ]
    desired = merge.without_nulls(submission.whole)
    written, more = _stored(tx, submission.ref, None, desired, how, lookups)
    ownership.after_apply(tx, written.uid, how.manager, ownership.whole(written), {}, ())
    return Written(written, "created", (*warnings, *more))


def replace(tx: Tx, submission: Submission, how: How, lookups: Everything) -> Written:
    """The whole object as given, but for labels that are the system's. Raises a problem; NotFound for none."""
    live = resources.find(tx, submission.ref)
    if live is None:
        raise not_found(submission.ref)
    rules.preconditions(live, submission)
    kept = {key: value for key, value in live.labels.items() if key.startswith(SYSTEM)}
    desired = merge.without_nulls(submission.whole)
    desired["labels"] = {**kept, **desired["labels"]}
    return _updated(tx, live, desired, how, lookups, rules.ignored(live, submission))


def apply(tx: Tx, submission: Submission, how: How, lookups: Everything, *, yielding: bool = False) -> Written:
    """Three-way merge on what this manager applied last. Raises a problem; a field that another set is a conflict.

    A manager that is `yielding` leaves such a field alone while it says the same as before, and sets it when it says
    something new.
    """
    ref = submission.ref
    live = resources.find(tx, ref)
    if not submission.kind.applied:
        raise rules.of_a_job(None, ref, {}, {}) or forbidden(ref, "cannot be applied")
    rules.preconditions(live, submission)
    warnings = rules.ignored(live, submission)
    desired = merge.without_nulls(submission.whole)
    strange = rules.system_labels(live, desired["labels"])
    if strange:
        raise invalid(strange, ref)
    desired["labels"] = {key: value for key, value in desired["labels"].items() if not key.startswith(SYSTEM)}
    if live is None:
        written, more = _stored(tx, ref, None, desired, how, lookups)
        ownership.after_apply(tx, written.uid, how.manager, desired, {}, ())
        applied.put_whole(tx, written.uid, how.manager, desired)
        return Written(written, "created", (*warnings, *more))
    before = applied.managers(tx, live.uid)
    owners = handover.moved(live, before, how.manager)
    others = {name: held for name, held in owners.items() if name != how.manager}
    standing = ownership.whole(live)
    clashes = merge.conflicts(standing, desired, others)
    left, taken, refused = ownership.parted(clashes, applied.whole(tx, live.uid, how.manager), desired)
    if not yielding or how.force:
        left, taken, refused = (), clashes, () if how.force else clashes
    if refused:
        raise _owned(ref, refused)
    mine = merge.less(desired, [clash.path for clash in left])
    merged = merge.three_way(standing, owners.get(how.manager, {}), mine, others)
    merged = handover.noted(live, how.manager, desired, merged)
    written, more = _stored(tx, ref, live, merged, how, lookups)
    ownership.after_handover(tx, live.uid, before, owners)
    ownership.after_apply(tx, live.uid, how.manager, mine, owners, [clash.path for clash in taken])
    applied.put_whole(tx, live.uid, how.manager, desired)
    told = _told(tx, live, written, [*warnings, *more], lookups)
    return replace_with(told, kept=ownership.kept(left, desired, standing))


def change(tx: Tx, ref: Ref, patch: Patch, how: How, lookups: Everything) -> Written:
    """A patch of the object as it stands. Raises a problem."""
    live = resources.find(tx, ref)
    if live is None:
        raise not_found(ref)
    submission, desired = patch(tx, live)
    rules.preconditions(live, submission)
    strange = rules.taken_off(live, desired["labels"] or {})
    if strange:
        raise invalid(strange, ref)
    return _updated(tx, live, desired, how, lookups, rules.ignored(live, submission))


def delete(
    tx: Tx, ref: Ref, *, uid: str | None = None, resource_version: int | None = None
) -> tuple[Stored, Stored | None]:
    """(as it was, as it is now or None when it went at once). Asking again changes nothing. Raises a problem."""
    live = resources.find(tx, ref)
    if live is None:
        raise not_found(ref)
    if uid is not None and uid != live.uid:
        raise conflict(ref, f"is another one now (have uid {uid}, now {live.uid})")
    if resource_version is not None and resource_version != live.resource_version:
        raise stale(ref, resource_version, live.resource_version)
    rules.deletion(tx, live)
    return live, resources.request_deletion(tx, live)


def keeps_nothing(tx: Tx, ref: Ref) -> None:
    """Raises a problem for what owns something: to delete it alone would leave what nobody looks after."""
    live = resources.find(tx, ref)
    owned = resources.owned(tx, live.uid) if live is not None else ()
    if owned:
        hint = "kubectl delete without --cascade=orphan"
        raise conflict(ref, f"what it owns goes with it: {owned[0].ref} cannot be left behind", hint=hint)


def _updated(tx: Tx, live: Stored, desired: Document, how: How, lookups: Everything, warnings: list[str]) -> Written:
    before = ownership.whole(live)
    manager = how.manager
    if live.ref.kind == "job":
        refused = rules.of_a_job(live, live.ref, before, desired)
        if refused:
            raise refused
        manager = rules.VERBS
    written, more = _stored(tx, live.ref, live, desired, how, lookups)
    if written is not live:
        ownership.after_update(tx, live.uid, manager, before, ownership.whole(written), applied.managers(tx, live.uid))
    return _told(tx, live, written, [*warnings, *more], lookups)


def _stored(
    tx: Tx, ref: Ref, live: Stored | None, desired: Mapping[str, Any], how: How, lookups: Everything
) -> tuple[Stored, list[str]]:
    """The resource after the write, and warnings. Everything that can be wrong is told at once."""
    spec, labels, annotations = (desired.get(part) or {} for part in ("spec", "labels", "annotations"))
    moved = live is None or not merge.same(live.document, spec)
    if live is not None and live.deletion_timestamp is not None and not (moved and ref.kind == "bundle"):
        raise being_deleted(ref, live.deletion_timestamp)
    warnings: list[str] = []
    first: Status | None = None
    errors = rules.system_labels(live, labels)
    if moved:
        _bounded(ref, spec)
        spec, found, warnings = pruning.checked(ref.kind, spec, how.validation)
        errors += found
        if live is not None:
            errors += rules.immutable(live, spec)
        if not found:
            try:
                first = _proposed(ref, spec)
                admission.check(ref, BY_NAME[ref.kind].spec.model_validate(spec), lookups)
            except Invalid as refused:
                errors += refused.errors
    if errors:
        raise invalid(errors, ref)
    if live is None and ref.kind == "job":
        raise rules.of_a_job(None, ref, {}, {}) or forbidden(ref, "cannot be created")
    if live is None:
        return resources.create(tx, ref, spec, labels=labels, annotations=annotations, status=first), warnings
    if live.deletion_timestamp is not None:
        live = resources.revive(tx, live, spec)
    return resources.replace(tx, live, document=spec, labels=labels, annotations=annotations), warnings


def _proposed(ref: Ref, spec: Document) -> Status | None:
    """What a definition says: the status to start with. Raises Invalid, and Unresolved until it was asked."""
    propose = BY_NAME[ref.kind].propose
    if propose is not None:
        return status_of(propose(ref, spec))
    if ref.kind not in BUILT_IN:
        raise Undefined(ref, f'no definition of {ref.kind} in project "{ref.project}"')
    return None


def _bounded(ref: Ref, spec: Document) -> None:
    size = canonical.size(spec)
    if size > MAX_SPEC_BYTES:
        message = f"spec is {size} bytes, limit is {MAX_SPEC_BYTES} (1 MiB)"
        raise Problem(422, "Invalid", message, ref=ref, causes=[Cause(message, "spec")])


def _told(tx: Tx, live: Stored, written: Stored, warnings: list[str], lookups: Everything) -> Written:
    if written is live:
        return Written(live, "unchanged", tuple(warnings), hint=_hint(live))
    moved = written.generation != live.generation
    restarts = caused_by(tx, written, lookups) if moved else ()
    return Written(written, "configured", tuple(warnings), restarts, spec_moved=moved)


def _hint(live: Stored) -> str:
    """What starts a broken bundle again, since the same text does not."""
    broken = live.ref.kind == "bundle" and live.status.broken is not None
    return f"rmctl restart {live.ref}" if broken else ""


def _owned(ref: Ref, clashes: tuple[merge.FieldConflict, ...]) -> Problem:
    causes = [
        Cause(f"set by {clash.manager}", ownership.shown(clash.path), "FieldManagerConflict") for clash in clashes
    ]
    told = ", ".join(f"{cause.field} was {cause.message}" for cause in causes)
    return conflict(ref, told, causes=causes, hint="take the field over with --force-conflicts, or leave it out")
