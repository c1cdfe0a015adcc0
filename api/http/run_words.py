"""What a child run that is not over waits for, in words."""

from __future__ import annotations

from typing import Any

from resources.resource import Resource
from resources.workflow_run import ACTIVE, RunRecord
from store import holds, workflow_runs
from store.tx import Tx


def rows(tx: Tx, resource: Resource[Any, Any]) -> tuple[tuple[str, ...], ...]:
    """Workflow, state, run and what it waits for, of those that a resource has asked for and that are not over."""
    active = [one for one in workflow_runs.of(tx, resource.uid) if one.state in ACTIVE]
    return tuple((one.workflow, one.state, one.run_id[:8], _waits(tx, one)) for one in active)


def steps(tx: Tx, resource: Resource[Any, Any]) -> tuple[str, ...]:
    """What a person may do about those that wait for one."""
    waiting = [one for one in workflow_runs.of(tx, resource.uid) if one.state == "waiting"]
    return tuple(f"rmctl runs resume {one.run_id[:8]} --value JSON --reason WHY" for one in waiting)


def _waits(tx: Tx, run: RunRecord) -> str:
    if run.state == "waiting":
        return f"waits for a person to say what became of it: {run.waits_for}"
    if run.error:
        return run.error
    hold = holds.find(tx)
    if hold is not None and run.state == "pending":
        return f"no run is begun now: {hold.reason}"
    if run.state == "pending":
        others = workflow_runs.count(tx, "running")
        return f"waits for its turn, {others} under way" if others else "is about to begin"
    return f"process {run.epoch} is at it"
