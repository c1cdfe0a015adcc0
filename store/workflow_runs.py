"""Child runs: asked for once a key, told to a scheduler by a note, and ended by a completion that names them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from resources.canonical import canonical
from resources.event import Event
from resources.reference import Ref
from resources.resource import Resource
from resources.workflow_run import ACTIVE, FINAL, Completion, Request, RunRecord, RunState
from store import events, holds, queue, resources
from store.effect_rows import bounded
from store.errors import EffectMismatch
from store.notes import RunDue, RunOver
from store.run_tables import workflow_runs as table
from store.run_tables import workflow_steps
from store.tables import resources as resources_table
from store.tx import Tx

LISTED = 1000


def ensure(tx: Tx, owner: Resource[Any, Any], request: Request) -> RunRecord:
    """The newest attempt of a request; one is made where there is none, or where the last one was interrupted.

    It goes on where that one was. A scheduler hears of it once this is committed. Raises EffectMismatch for another
    workflow or input.
    """
    found = find(tx, owner.uid, request.key)
    if found is not None and (found.workflow, found.fingerprint) != (request.workflow, request.fingerprint):
        was = f"{found.workflow} {found.fingerprint[:12]}"
        raise EffectMismatch(request.key, was, f"{request.workflow} {request.fingerprint[:12]}")
    if found is not None and found.state != "interrupted":
        return found
    if found is not None:
        return follow(tx, found, found.attempt + 1)
    made = RunRecord(
        run_id=tx.new_uuid(),
        uid=owner.uid,
        key=request.key,
        attempt=1,
        owner=owner.ref,
        workflow=request.workflow,
        fingerprint=request.fingerprint,
        input=request.input,
        state="pending",
        epoch=0,
        created_at=tx.now,
    )
    put(tx, made)
    return made


def follow(tx: Tx, run: RunRecord, attempt: int) -> RunRecord:
    """Another attempt, behind what is on record of one that has ended.

    All that an interrupted one had come to is handed on. Of any other one it is what is done, and what a person must
    judge; what failed is tried again.
    """
    made = replace(
        run,
        run_id=tx.new_uuid(),
        attempt=attempt,
        state="pending",
        epoch=0,
        result=None,
        error=None,
        waits_for=None,
        created_at=tx.now,
        completed_at=None,
        forked_from=run.run_id,
    )
    put(tx, made)
    steps = workflow_steps.c
    if run.state == "interrupted":
        tx.write(update(workflow_steps).where(steps.run_id == run.run_id).values(run_id=made.run_id))
        return made
    uncertain = (steps.state == "started") & (steps.manual == 1)
    asked = select(workflow_steps).where(steps.run_id == run.run_id, (steps.state == "done") | uncertain)
    rows = [{**row._mapping, "run_id": made.run_id} for row in tx.execute(asked)]
    if rows:
        tx.write(insert(workflow_steps), rows)
    return made


def lineage(tx: Tx, run: RunRecord) -> tuple[tuple[str, ...], RunRecord | None]:
    """Its id and those of the interrupted attempts that it goes on with, and the run that the first was forked from."""
    ids = [run.run_id]
    before = _before(tx, run)
    while before is not None and before.state == "interrupted":
        ids.append(before.run_id)
        before = _before(tx, before)
    return tuple(ids), before


def _before(tx: Tx, run: RunRecord) -> RunRecord | None:
    return None if run.forked_from is None else by_id(tx, run.forked_from)


def put(tx: Tx, made: RunRecord) -> None:
    """A new attempt, and word of it."""
    tx.write(
        insert(table).values(
            run_id=made.run_id,
            uid=made.uid,
            request_key=made.key,
            attempt=made.attempt,
            owner_kind=made.owner.kind,
            owner_project=made.owner.project,
            owner_name=made.owner.name,
            workflow=made.workflow,
            fingerprint=made.fingerprint,
            input=canonical(made.input),
            state=made.state,
            epoch=made.epoch,
            created_at=made.created_at,
            engine=made.engine,
            forked_from=made.forked_from,
        )
    )
    words = f"{made.workflow} {made.key}: attempt {made.attempt}, run {made.run_id}"
    events.add(tx, made.owner, made.uid, Event("WorkflowRequested", words))
    tx.note(RunDue(made.run_id))


def find(tx: Tx, uid: str, key: str) -> RunRecord | None:
    """The newest attempt."""
    asked = select(table).where(table.c.uid == uid, table.c.request_key == key).order_by(table.c.attempt.desc())
    row = tx.execute(asked.limit(1)).first()
    return None if row is None else _record(row)


def by_id(tx: Tx, run_id: str) -> RunRecord | None:
    row = tx.execute(select(table).where(table.c.run_id == run_id)).first()
    return None if row is None else _record(row)


def of(tx: Tx, uid: str) -> tuple[RunRecord, ...]:
    """Of one resource, oldest first."""
    asked = select(table).where(table.c.uid == uid).order_by(table.c.created_at, table.c.request_key, table.c.attempt)
    return tuple(map(_record, tx.execute(asked)))


def list_all(tx: Tx, *, project: str = "", begins: str = "", limit: int = LISTED) -> tuple[tuple[RunRecord, ...], int]:
    """Newest first, and how many there are beyond: of more than the limit, those that are not over come before others.

    `begins` is what their ids begin with.
    """
    wanted = table.c.run_id.startswith(begins, autoescape=True)
    if project:
        wanted &= table.c.owner_project == project
    over = table.c.state.in_(sorted(FINAL))
    asked = select(table).where(wanted).order_by(over, table.c.created_at.desc(), table.c.run_id).limit(limit)
    found = sorted(map(_record, tx.execute(asked)), key=lambda one: one.created_at, reverse=True)
    count = int(tx.execute(select(func.count()).select_from(table).where(wanted)).scalar_one())
    return tuple(found), count - len(found)


def count(tx: Tx, state: RunState) -> int:
    return int(tx.execute(select(func.count()).select_from(table).where(table.c.state == state)).scalar_one())


def due(tx: Tx) -> tuple[str, ...]:
    """Ids of what a scheduler has to start, or to go on with."""
    asked = select(table.c.run_id).where(table.c.state.in_(("pending", "running"))).order_by(table.c.created_at)
    return tuple(row.run_id for row in tx.execute(asked))


def complete(tx: Tx, said: Completion) -> str | None:
    """Take a completion and wake the parent; else why it is ignored, which is on record then.

    It names request, run and attempt; a final record is never written over. It needs no claim.
    """
    run = by_id(tx, said.run_id)
    refused = _refused(tx, run, said)
    if refused is not None:
        ref = None if run is None else run.owner
        if ref is not None:
            words = f"{said.key}: run {said.run_id} said {said.state}: {refused}"
            events.add(tx, ref, said.uid, Event("WorkflowCompletionIgnored", words, "Warning"))
        return refused
    assert run is not None
    error = None if said.error is None else bounded(said.error)
    result = None if said.result is None else canonical(said.result)
    change(tx, run, state=said.state, result=result, error=error, completed_at=tx.now, waits_for=None)
    return None


def _refused(tx: Tx, run: RunRecord | None, said: Completion) -> str | None:
    if run is None:
        return "no such run"
    if (run.uid, run.key, run.attempt) != (said.uid, said.key, said.attempt):
        return "it names another request or attempt"
    newest = find(tx, run.uid, run.key)
    if newest is not None and newest.run_id != run.run_id:
        return f"attempt {newest.attempt} has followed"
    if run.state not in ACTIVE:
        same = (run.state, run.result, run.error) == (said.state, said.result, said.error)
        return "it was said before" if same else f"it is {run.state} already"
    return None


def change(tx: Tx, run: RunRecord, **values: Any) -> None:
    """Another state of an active run: told, and the parent woken."""
    tx.write(update(table).where(table.c.run_id == run.run_id, table.c.state.in_(sorted(ACTIVE))).values(**values))
    state = values.get("state", run.state)
    if state != run.state:
        why = values.get("error") or values.get("waits_for")
        words = f"{run.workflow} {run.key}: {state}" + (f", {why}" if why else "")
        severity = "Warning" if state in ("failed", "interrupted", "waiting") else "Normal"
        events.add(tx, run.owner, run.uid, Event("WorkflowStateChanged", words, severity))  # type: ignore[arg-type]
    if state == "pending":
        tx.note(RunDue(run.run_id))
    owner = resources.by_uid(tx, run.uid)
    if owner is not None and state != "running":
        queue.enqueue(tx, owner.ref)


def begin(tx: Tx, run_id: str, engine: str, *, new: bool = True) -> RunRecord | None:
    """A process is at it from now on: one more epoch. None for a run that nobody should be at, or another engine.

    Only with `new` what no engine has begun yet, and nothing while there is a hold.
    """
    run = by_id(tx, run_id)
    if run is None or run.state not in ("pending", "running") or holds.find(tx) is not None:
        return None
    if run.engine != engine and not (new and run.engine is None):
        return None
    begun = {"state": "running", "epoch": run.epoch + 1, "engine": engine, "error": None}
    tx.write(update(table).where(table.c.run_id == run_id).values(**begun))
    return replace(run, **begun)  # type: ignore[arg-type]


def remark(tx: Tx, run_id: str, why: str) -> None:
    """Why a run that is due does not go on; its owner looks once."""
    run = by_id(tx, run_id)
    if run is not None and run.state in ("pending", "running") and run.error != bounded(why):
        tx.write(update(table).where(table.c.run_id == run_id).values(error=bounded(why)))
        owner = resources.by_uid(tx, run.uid)
        if owner is not None:
            queue.enqueue(tx, owner.ref)


def unknown(tx: Tx, run_ids: Sequence[str]) -> tuple[str, ...]:
    """Those of which nothing is on record."""
    asked = select(table.c.run_id).where(table.c.run_id.in_(run_ids))
    known = {row.run_id for row in tx.execute(asked)}
    return tuple(one for one in run_ids if one not in known)


def cancel(tx: Tx, run: RunRecord, why: str) -> None:
    """An active run ends as failed; steps of which nobody knows whether they happened are told."""
    change(tx, run, state="failed", error=f"cancelled: {why}", completed_at=tx.now, waits_for=None)
    tx.note(RunOver(run.run_id))
    steps = workflow_steps.c
    asked = select(steps.name).where(steps.run_id == run.run_id, steps.state == "started", steps.manual == 1)
    uncertain = [row.name for row in tx.execute(asked.order_by(steps.name))]
    if uncertain:
        words = f"{run.workflow} {run.key}: nobody knows whether these happened: {', '.join(uncertain)}"
        events.add(tx, run.owner, run.uid, Event("WorkflowUncertain", words, "Warning"))


def drop_old(tx: Tx, before: float, most: int) -> int:
    """Finished runs of owners that are gone; how many went."""
    stands = select(resources_table.c.uid).where(resources_table.c.uid == table.c.uid).exists()
    asked = select(table.c.run_id).where(table.c.completed_at < before, ~stands).limit(most)
    gone = [row.run_id for row in tx.execute(asked)]
    for one in (workflow_steps, table):
        tx.write(delete(one).where(one.c.run_id.in_(gone)))
    return len(gone)


def _record(row: Any) -> RunRecord:
    return RunRecord(
        run_id=row.run_id,
        uid=row.uid,
        key=row.request_key,
        attempt=row.attempt,
        owner=Ref(row.owner_kind, row.owner_name, row.owner_project),
        workflow=row.workflow,
        fingerprint=row.fingerprint,
        input=json.loads(row.input),
        state=row.state,
        epoch=row.epoch,
        created_at=row.created_at,
        result=None if row.result is None else json.loads(row.result),
        error=row.error,
        waits_for=row.waits_for,
        completed_at=row.completed_at,
        engine=row.engine,
        forked_from=row.forked_from,
    )
