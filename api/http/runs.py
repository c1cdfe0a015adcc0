"""Child runs over HTTP: the list, and what a person may do about one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.problems import Problem, bad_request
from api.http.records import owner_document
from api.http.threads import Threads
from resources.canonical import Document
from resources.instants import rfc3339
from resources.workflow_run import ACTIVE, RunRecord
from store import changes, keys, resources, workflow_runs, workflow_steps
from store.tx import Tx

CONTROLS = ("resume", "cancel", "fork")
FIELDS = ("run", "do", "value", "absent", "reason")


class Runs:
    """Read by everyone; a control is one transaction, and the scheduler hears of it by what was committed."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/runs", self.list, methods=["GET"]),
            Route(f"{ROOT}/runs/control", self.control, methods=["POST"]),
        ]

    async def list(self, request: Request) -> Response:
        """Newest first; of one resource by its uid oldest first. `id` is what the ids of those wanted begin with."""
        asked = request.query_params
        uid, project, begins = asked.get("uid"), asked.get("project", ""), asked.get("id", "")

        def read(tx: Tx) -> Document:
            metadata: Document = {"resourceVersion": str(changes.head(tx))}
            if uid:
                found, beyond = workflow_runs.of(tx, uid), 0
            else:
                found, beyond = workflow_runs.list_all(tx, project=project, begins=begins)
            items = [run_document(tx, one) for one in found if project in ("", one.owner.project)]
            if beyond:
                metadata["remainingItemCount"] = beyond
            return {"kind": "RunList", "apiVersion": "rmctl/v1", "metadata": metadata, "items": items}

        return exchange.answer(await self._threads.read(read))

    async def control(self, request: Request) -> Response:
        body = await exchange.document(request)
        if not isinstance(body, dict):
            raise bad_request("an object is expected")
        strange = next((key for key in body if key not in FIELDS), None)
        if strange is not None:
            raise bad_request(f"unknown field {printable(strange)}; it has {', '.join(FIELDS)}")
        if body.get("do") not in CONTROLS:
            raise bad_request(f"do: expected one of {', '.join(CONTROLS)}")
        if not isinstance(body.get("run"), str):
            raise bad_request("run: expected the id of a run")
        if not isinstance(body.get("absent", False), bool):
            raise bad_request("absent: expected true or false")
        reason, by = audit.reason_of(body), exchange.caller(request).name
        return exchange.answer(await self._threads.write(lambda tx: controlled(tx, body, reason, by)))


def controlled(tx: Tx, body: Document, reason: str, by: str) -> Document:
    run = workflow_runs.by_id(tx, body["run"])
    shown = printable(body["run"])
    if run is None:
        raise Problem(404, "NotFound", f'run "{shown}": not found')
    match body["do"]:
        case "resume":
            if run.state != "waiting":
                raise Problem(409, "Conflict", f'run "{shown}": is {run.state}, only a waiting one is resumed')
            _must_be_judged(tx, run, body)
            workflow_steps.settle(tx, run, happened=not body.get("absent", False), result=body.get("value"))
        case "cancel":
            if run.state not in ACTIVE:
                raise Problem(409, "Conflict", f'run "{shown}": is {run.state} already')
            workflow_runs.cancel(tx, run, reason)
        case _:
            run = forked(tx, run, shown)
    told = f"{body['do']} {run.workflow} {run.key}"
    audit.append(tx, run.owner, run.uid, told, by=by, reason=reason, run=run.run_id)
    stored = workflow_runs.by_id(tx, run.run_id)
    assert stored is not None
    return run_document(tx, stored)


def _must_be_judged(tx: Tx, run: RunRecord, body: Document) -> None:
    """Of a step that may have happened it must be said whether it did; a checkpoint is passed by going on."""
    step = workflow_steps.find(tx, run.run_id, str(run.waits_for))
    if step is not None and not step.checkpoint and "value" not in body and not body.get("absent", False):
        words = f'step "{printable(step.name)}" may have happened: say whether it did, and with which value'
        raise bad_request(words, hint="rmctl runs resume RUN --value JSON if it did, else --absent")


def forked(tx: Tx, run: RunRecord, shown: str) -> RunRecord:
    """Another attempt, behind the steps that are done."""
    owner = resources.by_uid(tx, run.uid)
    if owner is None or owner.deletion_timestamp is not None:
        raise Problem(409, "Conflict", f'run "{shown}": its resource, {run.owner}, is gone or being deleted')
    newest = workflow_runs.find(tx, run.uid, run.key)
    if run.state in ACTIVE or newest is None or newest.state in ACTIVE:
        raise Problem(409, "Conflict", f'run "{shown}": an attempt is under way', hint="rmctl runs cancel RUN")
    if run.state == "interrupted" and run.run_id != newest.run_id:
        went = f"attempt {newest.attempt} has gone on with its steps"
        raise Problem(409, "Conflict", f'run "{shown}": {went}', hint=f"rmctl runs fork {newest.run_id}")
    return workflow_runs.follow(tx, run, newest.attempt + 1)


def run_document(tx: Tx, run: RunRecord) -> Document:
    """Its input is not shown: what was asked stands in the owner's spec."""
    told: Document = {
        "id": run.run_id,
        "uid": run.uid,
        "key": run.key,
        "attempt": run.attempt,
        "owner": owner_document(run.owner, keys.of(tx, [run.owner]).get(run.owner)),
        "workflow": run.workflow,
        "state": run.state,
        "engine": run.engine,
        "forkedFrom": run.forked_from,
        "processes": run.epoch,
        "steps": [{"name": one.name, "state": one.state} for one in workflow_steps.of(tx, run.run_id)],
        "waitsFor": run.waits_for,
        "error": run.error,
        "createdAt": rfc3339(run.created_at),
        "completedAt": None if run.completed_at is None else rfc3339(run.completed_at),
    }
    return {key: value for key, value in told.items() if value is not None}
