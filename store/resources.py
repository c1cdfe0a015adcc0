"""The table of resources: reading, and the compare-and-swap writes."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import bindparam, delete, exists, insert, select, update

from resources import conditions, registry
from resources.canonical import Document, canonical
from resources.event import Event
from resources.reference import Ref
from resources.resource import Kept, Status
from store import changes, consequences, events, labels, queue, salvage
from store.errors import AlreadyExists, BeingDeleted, Conflict, NotFound
from store.notes import Gone, Written
from store.rows import AnyResource, change_of, changed, resource_of, row_of, with_texts
from store.run_tables import workflow_runs as runs_table
from store.statements import prepared
from store.tables import effects as effects_table
from store.tables import resources as table
from store.tx import Tx

_by_ref = prepared(
    select(table).where(
        table.c.kind == bindparam("k"), table.c.project == bindparam("p"), table.c.name == bindparam("n")
    )
)
_by_uid = prepared(select(table).where(table.c.uid == bindparam("u")))
_owned = prepared(select(table).where(table.c.owner == bindparam("o")).order_by(table.c.kind, table.c.name))
_all = select(table).where(table.c.kind == bindparam("k")).order_by(table.c.project, table.c.name)
_all_of = prepared(_all)
_all_in = prepared(_all.where(table.c.project == bindparam("p")))
_insert = prepared(insert(table))
_update = prepared(
    update(table).where(table.c.uid == bindparam("b_uid"), table.c.resource_version == bindparam("b_version"))
)
_key_of = prepared(
    select(table.c.kind, table.c.name, table.c.project, table.c.deletion_timestamp).where(table.c.uid == bindparam("u"))
)
_version = prepared(select(table.c.resource_version).where(table.c.uid == bindparam("u")))
_delete = prepared(delete(table).where(table.c.uid == bindparam("u")))
_carriers = prepared(labels.carriers(table))
_has_children = prepared(select(exists().where(table.c.owner == bindparam("o"))))
_has_active_runs = prepared(
    select(exists().where(runs_table.c.uid == bindparam("u"), runs_table.c.completed_at.is_(None)))
)
_has_open_effects = prepared(
    select(exists().where(effects_table.c.uid == bindparam("u"), effects_table.c.completed_at.is_(None)))
)


def find(tx: Tx, ref: Ref) -> AnyResource | None:
    row = tx.execute(_by_ref, {"k": ref.kind, "p": ref.project, "n": ref.name}).first()
    return None if row is None else resource_of(row)


def stands(tx: Tx, ref: Ref) -> bool:
    return tx.execute(_by_ref, {"k": ref.kind, "p": ref.project, "n": ref.name}).first() is not None


def get(tx: Tx, ref: Ref) -> AnyResource:
    """Raises NotFound."""
    found = find(tx, ref)
    if found is None:
        raise NotFound(ref)
    return found


def by_uid(tx: Tx, uid: str) -> AnyResource | None:
    row = tx.execute(_by_uid, {"u": uid}).first()
    return None if row is None else resource_of(row)


def list_all(tx: Tx, kind: str, project: str | None = None) -> tuple[AnyResource, ...]:
    """All of a kind by project and name; of one project, or of all for None."""
    rows = tx.execute(_all_of, {"k": kind}) if project is None else tx.execute(_all_in, {"k": kind, "p": project})
    return salvage.readable(tx, rows, resource_of)


def owned(tx: Tx, uid: str) -> tuple[AnyResource, ...]:
    return tuple(map(resource_of, tx.execute(_owned, {"o": uid})))


def labelled(tx: Tx, kind: str, key: str, value: str, project: str | None = None) -> tuple[AnyResource, ...]:
    """Resources of a kind that carry a label, by name."""
    rows = salvage.readable(tx, tx.execute(_carriers, {"k": kind, "l": key, "v": value}), resource_of)
    return tuple(r for r in rows if project is None or r.project == project)


def create(
    tx: Tx,
    ref: Ref,
    document: Document,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
    owner: str | None = None,
    status: Status | None = None,
) -> AnyResource:
    """A new resource, generation 1, and its key woken; `status` is what it starts with. Raises AlreadyExists."""
    if find(tx, ref) is not None:
        raise AlreadyExists(ref)
    kind = registry.of(ref.kind)
    made = kind.resource(
        ref=ref,
        uid=tx.new_uuid(),
        generation=1,
        resource_version=0,
        spec=kind.spec.model_validate(document),
        status=status or kind.status(),
        document=document,
        labels=dict(labels or {}),
        annotations=dict(annotations or {}),
        finalizers=tuple(dict.fromkeys(finalizers)),
        owner=owner,
        created_at=tx.now,
    )
    made = with_texts(made)
    made = changed(made, resource_version=changes.append(tx, "ADDED", ref, made.uid, change_of(made)))
    tx.write(
        _insert,
        {
            **row_of(made),
            "uid": made.uid,
            "kind": ref.kind,
            "project": ref.project,
            "name": ref.name,
            "owner": owner,
            "created_at": tx.now,
        },
    )
    _relabel(tx, made, {})
    events.add_new(tx, ref, made.uid, Event("ResourceCreated", "created"))
    consequences.written(tx, made)
    tx.note(Written(made))
    queue.enqueue(tx, ref)
    return made


def replace(
    tx: Tx,
    resource: AnyResource,
    *,
    document: Document | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> AnyResource:
    """Write what differs; nothing differing writes nothing and returns the resource as it is.

    A changed document raises the generation and wakes the key. Raises Conflict, and BeingDeleted for a changed
    document.
    """
    differs = document is not None and canonical(document) != canonical(resource.document)
    new = changed(
        resource,
        labels=resource.labels if labels is None else dict(labels),
        annotations=resource.annotations if annotations is None else dict(annotations),
    )
    if differs:
        assert document is not None
        if resource.deletion_timestamp is not None:
            raise BeingDeleted(resource.ref, resource.deletion_timestamp)
        spec = registry.of(resource.ref.kind).spec.model_validate(document)
        new = changed(new, document=document, spec=spec, generation=resource.generation + 1)
    elif new.labels == resource.labels and new.annotations == resource.annotations:
        return resource
    stored = _write(tx, resource, new)
    if differs:
        events.add(tx, resource.ref, resource.uid, Event("SpecChanged", f"generation {stored.generation}"))
    queue.enqueue(tx, resource.ref)
    return stored


def replace_status(
    tx: Tx, resource: AnyResource, status: Status | Kept | None, *, finalizers: tuple[str, ...] | None = None
) -> AnyResource:
    """Compare-and-swap of the status; byte-identical ones are not written. Conditions are merged and stamped here.

    A finalizer named twice counts once, and none is added once deletion was asked for.
    """
    status = said(resource, status)
    stamped = status.model_copy(
        update={
            "observed_generation": resource.generation,
            "conditions": conditions.merge(
                resource.status.conditions, status.conditions, generation=resource.generation, now=tx.now
            ),
        }
    )
    kept = resource.finalizers if finalizers is None else _finalizers(resource, finalizers)
    new = with_texts(changed(resource, status=stamped, finalizers=kept))
    if kept == resource.finalizers and new.texts.status_text == with_texts(resource).texts.status_text:
        check(tx, resource)
        return resource
    stored = _write(tx, resource, new)
    if resource.owner is not None:
        wake(tx, resource.owner)
    return stored


def said(resource: AnyResource, status: Status | Kept | None) -> Status:
    """What a pass said: a status, nothing at all, or None: that nothing is known but the conditions."""
    match status:
        case Kept.STATUS:
            return resource.status  # type: ignore[no-any-return]
        case None:
            return registry.of(resource.ref.kind).status(conditions=resource.status.conditions)
        case _:
            return status


def _finalizers(resource: AnyResource, wanted: tuple[str, ...]) -> tuple[str, ...]:
    names = dict.fromkeys(wanted)
    return tuple(name for name in names if not resource.deleting or name in resource.finalizers)


def wake(tx: Tx, uid: str) -> bool:
    """Wake the key of a resource, if there is one; whether it is under deletion."""
    row = tx.execute(_key_of, {"u": uid}).first()
    if row is not None:
        queue.enqueue(tx, Ref(row.kind, row.name, row.project))
    return row is not None and row.deletion_timestamp is not None


def request_deletion(tx: Tx, resource: AnyResource) -> AnyResource | None:
    """Set the timestamp once and wake the key; None when it went at once, having no finalizer, child or open effect."""
    if resource.deletion_timestamp is not None:
        return resource
    stored = _deleting(tx, resource)
    if remove_if_free(tx, stored):
        return None
    queue.enqueue(tx, resource.ref)
    return stored


def revive(tx: Tx, resource: AnyResource, document: Document) -> AnyResource:
    """Take a deletion back with a changed document (bundles only)."""
    return replace(tx, _write(tx, resource, changed(resource, deletion_timestamp=None)), document=document)


def remove_if_free(tx: Tx, resource: AnyResource) -> bool:
    """Remove a resource under deletion without finalizer, child, open run or open effect, and so its owner."""
    if resource.deletion_timestamp is None or resource.finalizers:
        return False
    if tx.execute(_has_children, {"o": resource.uid}).scalar_one():
        return False
    if tx.execute(_has_open_effects, {"u": resource.uid}).scalar_one():
        return False
    if tx.execute(_has_active_runs, {"u": resource.uid}).scalar_one():
        return False
    tx.write(_delete, {"u": resource.uid})
    consequences.removed(tx, resource)
    queue.remove(tx, resource.ref)
    revision = changes.append(tx, "DELETED", resource.ref, resource.uid, change_of(with_texts(resource)))
    events.add_new(tx, resource.ref, resource.uid, Event("ResourceDeleted", "gone"))
    tx.note(Gone(resource, revision))
    if resource.owner is not None:
        owner = by_uid(tx, resource.owner)
        if owner is not None:
            queue.enqueue(tx, owner.ref)
            remove_if_free(tx, owner)
    return True


def strip(tx: Tx, resource: AnyResource) -> None:
    """Ask for deletion and drop the finalizers: gone, unless it has children or open effects."""
    asked = resource if resource.deleting else _deleting(tx, resource)
    remove_if_free(tx, _write(tx, asked, changed(asked, finalizers=())))


def check(tx: Tx, resource: AnyResource) -> None:
    """Raises Conflict when the resource has moved since it was read."""
    found = tx.execute(_version, {"u": resource.uid}).scalar_one_or_none()
    if found != resource.resource_version:
        raise Conflict(resource.ref, resource.resource_version, found or 0)


def _deleting(tx: Tx, resource: AnyResource) -> AnyResource:
    events.add(tx, resource.ref, resource.uid, Event("DeletionRequested", "its deletion was asked for"))
    return _write(tx, resource, changed(resource, deletion_timestamp=tx.now))


def _write(tx: Tx, old: AnyResource, new: AnyResource) -> AnyResource:
    new = with_texts(new)
    stored = changed(new, resource_version=changes.append(tx, "MODIFIED", new.ref, new.uid, change_of(new)))
    if tx.write(_update, {**row_of(stored), "b_uid": old.uid, "b_version": old.resource_version}).rowcount == 0:
        check(tx, old)
    _relabel(tx, stored, old.labels)
    if stored.generation != old.generation:
        consequences.written(tx, stored)
    tx.note(Written(stored))
    return stored


def _relabel(tx: Tx, resource: AnyResource, before: Mapping[str, str]) -> None:
    if dict(resource.labels) != dict(before):
        labels.replace(tx, resource.uid, resource.ref.kind, resource.labels)
