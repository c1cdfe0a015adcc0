"""`POST /apis/rmctl/v1/batch`: a set of documents applied in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api.http import audit, envelope, exchange, queries, writes
from api.http.envelope import Submission
from api.http.lookups import Everything
from api.http.problems import Cause, Problem, bad_request, together, translated
from api.http.queries import How
from api.http.services import Services
from api.http.threads import Threads
from resources.canonical import Document
from resources.frozen import spelled
from resources.kind import Undefined, Unresolved
from resources.reference import Ref
from resources.validation import Invalid
from resources.wire import to_wire
from store.errors import ReadOnly, StoreError
from store.tx import Tx

MAX_DOCUMENTS = 5000
KEYS = ("documents", "fieldManager", "force", "dryRun", "project")
Refusals = list[tuple[int, Problem]]


class Batch:
    """The endpoint of `rmctl apply`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    async def post(self, request: Request) -> Response:
        body = await exchange.document(request)
        how, documents, project = read(body, queries.how(request.query_params, request.headers.get("user-agent", "")))
        submissions = submitted(documents, project)
        caller = exchange.caller(request)

        def carried_out(tx: Tx) -> list[writes.Written]:
            written = apply(tx, submissions, how, self._services.criteria)
            for one in written:
                audit.wrote(tx, caller, one.resource, one.outcome, spec_moved=one.spec_moved)
            return written

        booked = any(one.ref.kind == "reservation" for one in submissions)
        written = await self._threads.write(carried_out, dry_run=how.dry_run, tried=booked)
        warnings = [f"{one.resource.ref}: {text}" for one in written for text in one.warnings]
        items = [item(one) for one in written]
        return exchange.answer({"kind": "BatchResult", "apiVersion": "rmctl/v1", "items": items}, warnings=warnings)


def read(body: Any, how: How) -> tuple[How, Sequence[object], str | None]:
    """(how, the documents, the project of those that name none). Raises a 400 problem."""
    if not isinstance(body, dict):
        raise bad_request(f"a batch is an object, got {spelled(body)}")
    strange = next((key for key in body if key not in KEYS), None)
    if strange is not None:
        raise bad_request(f"unknown field {envelope.printable(strange)}; a batch has {', '.join(KEYS)}")
    documents = body.get("documents")
    if not isinstance(documents, list) or not documents:
        raise bad_request("documents: expected a non-empty list of objects")
    if len(documents) > MAX_DOCUMENTS:
        raise bad_request(f"documents: at most {MAX_DOCUMENTS}")
    dry = body.get("dryRun")
    if dry not in (None, False, True, "", "All"):
        raise bad_request('dryRun: expected true, false or "All"')
    if not isinstance(body.get("force") or False, bool):
        raise bad_request("force: expected true or false")
    project = body.get("project")
    if project is not None and not isinstance(project, str):
        raise bad_request("project: expected text")
    return (
        replace(
            how,
            manager=queries.manager_named(body.get("fieldManager") or how.manager),
            force=bool(body.get("force")) or how.force,
            dry_run=bool(dry) or how.dry_run,
        ),
        documents,
        project,
    )


def submitted(documents: Sequence[object], project: str | None = None) -> list[Submission]:
    """Every envelope, before anything is looked up. Raises one problem with all that is wrong."""
    found: list[Submission] = []
    refused: Refusals = []
    for index, document in enumerate(documents):
        try:
            found.append(envelope.read(_in_project(document, project)))
        except Invalid as error:
            refused.append((index, translated(error, _guessed(document)) or bad_request(str(error))))
    if not refused:
        refused = list(_twice(found))
    if refused:
        raise together(refused)
    return found


def apply(tx: Tx, submissions: Sequence[Submission], how: How, criteria: Sequence[str] = ()) -> list[writes.Written]:
    """All or nothing; raises one problem with all that is wrong. Results stand in the order of the documents."""
    lookups = Everything(tx, {one.ref: one.spec for one in submissions}, criteria=criteria)
    written: list[writes.Written] = []
    refused: Refusals = []
    unresolved: list[Unresolved] = []
    only_tried = False
    for index, submission in enumerate(submissions):
        try:
            written.append(writes.apply(tx, submission, how, lookups, yielding=True))
        except Unresolved as one:
            unresolved.append(one)
        except ReadOnly:
            only_tried = True
        except (Problem, Invalid, Undefined, StoreError) as error:
            problem = translated(error, submission.ref)
            if problem is None:
                raise
            refused.append((index, problem))
    if unresolved:
        raise Unresolved(unresolved[0].ref, partial(_resolve, unresolved))
    if refused:
        raise together(refused)
    if only_tried:
        raise ReadOnly
    return written


def _resolve(unresolved: Sequence[Unresolved]) -> None:
    for one in unresolved:
        one.resolve()


def item(written: writes.Written) -> Document:
    """One line of the answer."""
    ref = written.resource.ref
    told: Document = {"kind": ref.kind, "name": ref.name, "outcome": written.outcome}
    if written.resource.key != ref.name:
        told["key"] = written.resource.key
    if ref.project:
        told["project"] = ref.project
    if written.restarts:
        told["restarts"] = list(written.restarts)
    if written.hint:
        told["hint"] = written.hint
    if written.kept:
        told["kept"] = [one._asdict() for one in written.kept]
    return {**told, "object": to_wire(written.resource)}


def _in_project(document: object, project: str | None) -> object:
    """The document with the batch's project where it names none itself."""
    if project is None or not isinstance(document, dict):
        return document
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("project") or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "project": project}}


def _twice(submissions: Sequence[Submission]) -> list[tuple[int, Problem]]:
    first: dict[Ref, int] = {}
    refused: Refusals = []
    for index, submission in enumerate(submissions):
        earlier = first.setdefault(submission.ref, index)
        if earlier != index:
            text = f"defined twice (documents {earlier + 1} and {index + 1})"
            message = f"{submission.ref}: {text}"
            refused.append((index, Problem(422, "Invalid", message, ref=submission.ref, causes=[Cause(message)])))
    return refused


def _guessed(document: object) -> Ref | None:
    """What a document that cannot be taken seems to be about, for the message."""
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        return None
    kind, name = document.get("kind"), document["metadata"].get("name")
    if not isinstance(kind, str) or not isinstance(name, str) or not kind or not name:
        return None
    return Ref(envelope.printable(kind), envelope.printable(name))
