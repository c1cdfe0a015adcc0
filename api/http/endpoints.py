"""The endpoints of resources: one set for every kind."""

from __future__ import annotations

from typing import cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from api.http import audit, envelope, exchange, lists, patches, queries, showing, tables, watches, writes
from api.http.hub import Hub
from api.http.lookups import Everything
from api.http.problems import Problem, bad_request, not_found
from api.http.queries import How
from api.http.services import Services
from api.http.showing import show
from api.http.strict_json import loads
from api.http.summary import Tiers, fixed_tiers
from api.http.threads import Threads
from resources.canonical import Document
from resources.kind import Kind
from resources.names import label_problem
from resources.reference import Ref
from resources.registry import kind_of_plural
from resources.validation import FieldError
from resources.wire import API_VERSION, to_wire
from store import resources
from store.tx import Tx

ROOT = "/apis/rmctl/v1"


class Endpoints:
    """get, list, watch, create, update, patch, apply and delete."""

    def __init__(self, services: Services, threads: Threads, hub: Hub) -> None:
        self._services = services
        self._threads = threads
        self._hub = hub

    def routes(self) -> list[Route]:
        every = f"{ROOT}/{{plural}}"
        inside = f"{ROOT}/namespaces/{{project}}/{{plural}}"
        return [
            Route(inside, self.collection, methods=["GET", "POST"]),
            Route(f"{inside}/{{name}}", self.one, methods=["GET", "PUT", "PATCH", "DELETE"]),
            Route(every, self.collection, methods=["GET", "POST"]),
            Route(f"{every}/{{name}}", self.one, methods=["GET", "PUT", "PATCH", "DELETE"]),
        ]

    async def collection(self, request: Request) -> Response:
        kind, project = kind_of(request), project_of(request)
        if request.method == "POST":
            return await self._create(request, kind, project)
        listing = queries.listing(request.query_params, f"{kind.plural}/{project or ''}")
        if queries.flag(request.query_params, "watch"):
            return await self._watch(request, kind, project, listing)
        revision = queries.revision(request.query_params)
        exact = request.query_params.get("resourceVersionMatch") == "Exact"

        as_table = tables.wanted(request.headers.get("accept", ""))

        def read(tx: Tx) -> tuple[lists.Page, Tiers]:
            tx.spoilt = spoilt
            lists.at_least(tx, revision, exact=exact)
            pools = map(to_wire, resources.list_all(tx, "pool")) if as_table and kind.name == "node" else ()
            return lists.page(tx, kind, project, listing), fixed_tiers(pools)

        spoilt: dict[Ref, None] = {}
        page, tiers = await self._threads.read(read)
        warnings = [f"{one} is left out: {showing.ROTTEN}; {showing.way_out(one)}" for one in spoilt]
        metadata: Document = {"resourceVersion": str(page.revision)}
        if page.token:
            metadata["continue"] = page.token
        if page.remaining:
            metadata["remainingItemCount"] = page.remaining
        if as_table:
            now, include = self._services.now(), included(request)
            table = tables.table(page.documents, now=now, include=include, metadata=metadata, tiers=tiers)
            return exchange.answer(table, warnings=warnings)
        around = {"kind": f"{kind.name}List", "apiVersion": API_VERSION, "metadata": metadata}
        return exchange.listed(around, page.items, warnings=warnings)

    async def one(self, request: Request) -> Response:
        ref = ref_of(request)
        match request.method:
            case "PUT":
                return await self._replace(request, ref)
            case "PATCH":
                return await self._patch(request, ref)
            case "DELETE":
                return await self._delete(request, ref)
            case _:
                queries.revision(request.query_params)
                found = await self._threads.read(lambda tx: show(tx, resources.get(tx, ref)))
                return self._shown(request, found)

    async def _create(self, request: Request, kind: Kind, project: str | None) -> Response:
        how = how_of(request)
        submission = envelope.read(await exchange.document(request), kind=kind, project=project)
        return await self._written(request, how, lambda tx: writes.create(tx, submission, how, self._everything(tx)))

    async def _replace(self, request: Request, ref: Ref) -> Response:
        how = how_of(request)
        document = await exchange.document(request)
        submission = envelope.read(document, kind=kind_of(request), project=ref.project or None, name=ref.name)
        return await self._written(request, how, lambda tx: writes.replace(tx, submission, how, self._everything(tx)))

    async def _patch(self, request: Request, ref: Ref) -> Response:
        how = how_of(request)
        media = exchange.media_type(request)
        if media == patches.APPLY:
            if not request.query_params.get("fieldManager"):
                raise bad_request("fieldManager: required to apply")
            document = patches.read_apply(await exchange.body(request))
            submission = envelope.read(document, kind=kind_of(request), project=ref.project or None, name=ref.name)
            return await self._written(request, how, lambda tx: writes.apply(tx, submission, how, self._everything(tx)))
        if media not in patches.MEDIA:
            raise queries.unsupported_media(media, patches.MEDIA)
        patch = patches.of(media, loads(await exchange.body(request)))
        return await self._written(request, how, lambda tx: writes.change(tx, ref, patch, how, self._everything(tx)))

    async def _written(self, request: Request, how: How, write: writes.Write) -> Response:
        caller = exchange.caller(request)

        def carried_out(tx: Tx) -> tuple[writes.Written, Document]:
            written = write(tx)
            audit.wrote(tx, caller, written.resource, written.outcome, spec_moved=written.spec_moved)
            return written, show(tx, written.resource)

        written, document = await self._threads.write(
            carried_out, dry_run=how.dry_run, tried=kind_of(request).name == "reservation"
        )
        code = 201 if written.outcome == "created" else 200
        response = self._shown(request, document, code, written.warnings)
        response.headers["Rmctl-Outcome"] = written.outcome
        return response

    def _everything(self, tx: Tx) -> Everything:
        return Everything(tx, criteria=self._services.criteria)

    async def _delete(self, request: Request, ref: Ref) -> Response:
        options = await self._options(request)
        dry = dry_run_of(request, options)
        preconditions = options.get("preconditions") or {}
        problems: list[FieldError] = []
        version = envelope.resource_version(preconditions.get("resourceVersion"), problems)
        if problems:
            raise bad_request(f"preconditions: {problems[0].message}")

        caller = exchange.caller(request)
        orphan = options.get("propagationPolicy", request.query_params.get("propagationPolicy")) == "Orphan"

        def carried_out(tx: Tx) -> Document:
            if orphan:
                writes.keeps_nothing(tx, ref)
            was, now = writes.delete(tx, ref, uid=preconditions.get("uid"), resource_version=version)
            if not was.deleting:
                audit.wrote(tx, caller, was, "deleted")
            return deleted(was) if now is None else show(tx, now)

        return exchange.answer(await self._threads.write(carried_out, dry_run=dry))

    async def _options(self, request: Request) -> Document:
        body = await exchange.body(request)
        options = loads(body) if body.strip() else {}
        if not isinstance(options, dict) or not isinstance(options.get("preconditions") or {}, dict):
            raise bad_request("delete options are an object")
        return options

    async def _watch(self, request: Request, kind: Kind, project: str | None, listing: queries.Listing) -> Response:
        query = request.query_params
        revision = queries.revision(query)
        initial = queries.flag(query, "sendInitialEvents")
        refused = "sendInitialEvents" in query and not initial
        now, include, as_table = self._services.now, included(request), tables.wanted(request.headers.get("accept", ""))
        timeout = queries.number(query, "timeoutSeconds")
        watch = watches.Watch(
            kind,
            project,
            listing,
            snapshot=initial or (not revision and not refused),
            revision=revision or None,
            bookmarks=queries.flag(query, "allowWatchBookmarks"),
            end_of_snapshot=initial,
            timeout=float(timeout) if timeout else None,
            shape=(lambda document: tables.of_one(document, now=now(), include=include)) if as_table else as_it_is,
        )
        lines = await watches.stream(watch, self._threads, self._hub)
        return StreamingResponse(lines, media_type="application/json;stream=watch" if not as_table else exchange.JSON)

    def _shown(self, request: Request, document: Document, code: int = 200, warnings: tuple[str, ...] = ()) -> Response:
        if tables.wanted(request.headers.get("accept", "")):
            document = tables.of_one(document, now=self._services.now(), include=included(request))
        return exchange.answer(document, code, warnings=warnings)


def as_it_is(document: Document) -> Document:
    return document


def kind_of(request: Request) -> Kind:
    """Raises NotFound for a plural that names no kind, or one that stands in the wrong place."""
    plural = request.path_params["plural"]
    kind = kind_of_plural(plural)
    if kind is None:
        raise Problem(404, "NotFound", f'there is no kind "{envelope.printable(plural)}"')
    if "project" in request.path_params and not kind.namespaced:
        raise Problem(404, "NotFound", f"{kind.plural} are in no project: /apis/rmctl/v1/{kind.plural}")
    return kind


def project_of(request: Request) -> str | None:
    project = request.path_params.get("project")
    if project is not None and label_problem(project):
        raise bad_request(f"project: {label_problem(project)}")
    return project


def ref_of(request: Request) -> Ref:
    """A namespaced kind without a project in its path is of the project `default`."""
    kind = kind_of(request)
    project = (project_of(request) or envelope.DEFAULT_PROJECT) if kind.namespaced else ""
    ref = Ref(kind.name, request.path_params["name"], project)
    if not ref.name.isascii() or not ref.name.isprintable() or "%" in ref.name:
        raise not_found(ref._replace(name=envelope.printable(ref.name)))
    return ref


def how_of(request: Request) -> How:
    return queries.how(request.query_params, request.headers.get("user-agent", ""))


def included(request: Request) -> tables.Include:
    value = request.query_params.get("includeObject") or "Metadata"
    if value not in ("Metadata", "Object", "None"):
        raise bad_request(f'includeObject: "{envelope.printable(value)}" is not one of Metadata, Object, None')
    return cast("tables.Include", value)


def dry_run_of(request: Request, options: Document) -> bool:
    """A deletion is a dry run when the query or the options in its body say so."""
    told = options.get("dryRun") or []
    if told not in ([], ["All"]):
        raise bad_request('dryRun: expected ["All"]')
    return how_of(request).dry_run or bool(told)


def deleted(was: writes.Stored) -> Document:
    """The Status of a resource that went at once."""
    details = {"name": was.name, "group": "rmctl", "kind": was.ref.kind, "uid": was.uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
