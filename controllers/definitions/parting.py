"""Parting: the child runs of a resource that goes are cancelled, and what may have happened is told before it does."""

from __future__ import annotations

from typing import Any

from controllers.runtime.commit import commit
from controllers.runtime.decision import Decision
from resources.resource import Resource
from resources.workflow_run import ACTIVE
from store import workflow_runs
from store.queue import Claim
from store.tx import Tx


def commit_and_part(tx: Tx, claim: Claim, resource: Resource[Any, Any], decision: Decision) -> None:
    """As `commit`. Runs that were asked for since the deletion are part of the clean-up, and go on."""
    if resource.deletion_timestamp is not None:
        for run in workflow_runs.of(tx, resource.uid):
            if run.state in ACTIVE and run.created_at <= resource.deletion_timestamp:
                workflow_runs.cancel(tx, run, f"{resource.ref} is being deleted")
    commit(tx, claim, resource, decision)
