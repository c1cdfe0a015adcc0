"""The steps of child runs: each begun and ended on record, so that the next process goes on behind the last one."""

from __future__ import annotations

import json
from typing import Any, Literal

from sqlalchemy import delete, insert, select, update

from resources.canonical import canonical
from resources.workflow_run import RunRecord, StepRecord
from store import workflow_runs
from store.effect_rows import bounded
from store.run_tables import workflow_runs as runs
from store.run_tables import workflow_steps as table
from store.tx import Tx

Next = Literal["run", "waits"]
CHECKPOINT = 2
"""In the column `manual`: a step that only a person can end."""


def of(tx: Tx, run_id: str) -> tuple[StepRecord, ...]:
    """In the order in which they were begun."""
    asked = select(table).where(table.c.run_id == run_id).order_by(table.c.started_at, table.c.name)
    return tuple(map(_record, tx.execute(asked)))


def begin(tx: Tx, run: RunRecord, name: str, *, manual: bool) -> StepRecord | Next:
    """What stands on record of a step that has ended; `run` for one to be carried out.

    A manual step that an earlier process began and did not end is uncertain: the run waits for a person.
    """
    _fence(tx, run)
    found = find(tx, run.run_id, name)
    if found is None:
        row = {"run_id": run.run_id, "name": name, "manual": int(manual), "started_at": tx.now}
        tx.write(insert(table).values(state="started", epoch=run.epoch, **row))
        return "run"
    if found.state != "started":
        return found
    if found.manual:
        wait(tx, run, name)
        return "waits"
    tx.write(_this(run.run_id, name).values(epoch=run.epoch))
    return "run"


def checkpoint(tx: Tx, run: RunRecord, name: str) -> StepRecord | Next:
    """As `begin`, of a step that only a person can end."""
    _fence(tx, run)
    found = find(tx, run.run_id, name)
    if found is not None and found.state != "started":
        return found
    if found is None:
        row = {"run_id": run.run_id, "name": name, "manual": CHECKPOINT, "started_at": tx.now}
        tx.write(insert(table).values(state="started", epoch=run.epoch, **row))
    wait(tx, run, name)
    return "waits"


def end(tx: Tx, run: RunRecord, name: str, *, result: Any = None, error: str | None = None) -> None:
    """Raises Superseded when another process is at the run by now."""
    _fence(tx, run)
    told = {"error": bounded(error), "state": "failed"} if error is not None else {"state": "done"}
    values = {"ended_at": tx.now, "result": None if result is None else canonical(result), **told}
    tx.write(_this(run.run_id, name).where(table.c.state == "started", table.c.epoch == run.epoch).values(**values))


def note(tx: Tx, run: RunRecord, name: str, state: Literal["started", "done", "failed"], error: str | None) -> None:
    """How far a run is whose engine keeps the steps themselves elsewhere; their results are not here."""
    _fence(tx, run)
    told: dict[str, Any] = {"state": state, "epoch": run.epoch, "error": None if error is None else bounded(error)}
    told["ended_at"] = None if state == "started" else tx.now
    if find(tx, run.run_id, name) is not None:
        tx.write(_this(run.run_id, name).where(table.c.state == "started", table.c.manual == 0).values(**told))
    else:
        tx.write(insert(table).values(run_id=run.run_id, name=name, manual=0, started_at=tx.now, **told))


def forget(tx: Tx, run: RunRecord, name: str) -> None:
    tx.write(delete(table).where(table.c.run_id == run.run_id, table.c.name == name))


def settle(tx: Tx, run: RunRecord, *, happened: bool, result: Any = None) -> None:
    """What a person says of the step that a run waits for; the run goes on."""
    assert run.waits_for is not None
    if happened:
        stored = None if result is None else canonical(result)
        tx.write(_this(run.run_id, run.waits_for).values(state="done", ended_at=tx.now, result=stored))
    else:
        forget(tx, run, run.waits_for)
    workflow_runs.change(tx, run, state="pending", waits_for=None)


def wait(tx: Tx, run: RunRecord, name: str) -> None:
    workflow_runs.change(tx, run, state="waiting", waits_for=name)


class Superseded(Exception):
    """Another process is at the run, or it is over."""


def _fence(tx: Tx, run: RunRecord) -> None:
    row = tx.execute(select(runs.c.epoch, runs.c.state).where(runs.c.run_id == run.run_id)).first()
    if row is None or (row.epoch, row.state) != (run.epoch, "running"):
        raise Superseded(run.run_id)


def find(tx: Tx, run_id: str, name: str) -> StepRecord | None:
    row = tx.execute(select(table).where(table.c.run_id == run_id, table.c.name == name)).first()
    return None if row is None else _record(row)


def _this(run_id: str, name: str) -> Any:
    return update(table).where(table.c.run_id == run_id, table.c.name == name)


def _record(row: Any) -> StepRecord:
    result = None if row.result is None else json.loads(row.result)
    checkpoint = row.manual == CHECKPOINT
    return StepRecord(row.name, row.state, bool(row.manual), row.epoch, result, row.error, checkpoint)
