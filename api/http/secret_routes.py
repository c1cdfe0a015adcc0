"""`…/namespaces/PROJECT/secrets`: set, listed and deleted; there is no way to read a value back."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT, project_of
from api.http.envelope import DEFAULT_PROJECT, printable
from api.http.problems import Problem, bad_request, invalid
from api.http.services import Services
from api.http.threads import Threads
from resources.canonical import Document
from resources.instants import rfc3339
from resources.names import label_problem
from resources.validation import FieldError
from store import resources, secret_index
from store.secret_files import SecretFiles
from store.tx import Tx

KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9_])?", re.ASCII)
MAX_VALUE_BYTES = 64 * 1024
BASE = f"{ROOT}/namespaces/{{project}}/secrets"


class Secrets:
    """The endpoints of `rmctl secret`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(BASE, self.listed, methods=["GET"]),
            Route(f"{BASE}/{{name}}", self.removed, methods=["DELETE"]),
            Route(f"{BASE}/{{name}}/{{key}}", self.put, methods=["PUT"]),
            Route(f"{BASE}/{{name}}/{{key}}", self.removed, methods=["DELETE"]),
        ]

    async def listed(self, request: Request) -> Response:
        project = project_of(request) or DEFAULT_PROJECT
        files = self._files()

        def read(tx: Tx) -> list[Document]:
            users = _users(tx, project)
            return [_told(one, files, users) for one in secret_index.list_all(tx, project)]

        items = await self._threads.read(read)
        return exchange.answer({"kind": "SecretList", "apiVersion": "rmctl/v1", "items": items})

    async def put(self, request: Request) -> Response:
        """The value is written first: what the index names is there."""
        project, name, key = _named(request)
        assert key is not None, "the route has one"
        value = _value(await exchange.document(request))
        files = self._files()
        by = exchange.caller(request).name

        digest = await asyncio.to_thread(files.put, project, name, key, value)

        def write(tx: Tx) -> Document:
            before = secret_index.stands(tx, project, name, key)
            secret_index.put(tx, project, name, key, digest)
            audit.of_the_server(tx, f"set secret {project}/{name} {key}", by=by)
            return {"name": name, "key": key, "digest": digest, "outcome": "configured" if before else "created"}

        return exchange.answer(await self._threads.write(write))

    async def removed(self, request: Request) -> Response:
        """What runs keeps what it was started with; the next start of its jobs waits."""
        project, name, key = _named(request)
        files = self._files()
        by = exchange.caller(request).name

        def write(tx: Tx) -> Document:
            gone = secret_index.remove(tx, project, name, key)
            if not gone:
                raise Problem(404, "NotFound", f'secret "{name}": not found' + (f" with the key {key}" if key else ""))
            audit.of_the_server(tx, f"deleted secret {project}/{name}" + (f" {key}" if key else ""), by=by)
            return {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": name, "keys": gone}}

        answer = await self._threads.write(write)
        await asyncio.to_thread(files.remove, project, name, key)
        return exchange.answer(answer)

    def _files(self) -> SecretFiles:
        if self._services.secrets is None:
            raise Problem(404, "NotFound", "this server keeps no secrets")
        return self._services.secrets


def _named(request: Request) -> tuple[str, str, str | None]:
    """Raises a problem for names that no file may have."""
    project = project_of(request) or DEFAULT_PROJECT
    name, key = request.path_params["name"], request.path_params.get("key")
    errors = []
    problem = label_problem(name)
    if problem:
        errors.append(FieldError("name", problem))
    if key is not None and not KEY.fullmatch(key):
        errors.append(FieldError("key", f"must match {KEY.pattern}"))
    if errors:
        raise invalid(errors)
    return project, name, key


def _value(body: Any) -> str:
    """Raises a problem that never holds the value."""
    value = body.get("value") if isinstance(body, dict) else None
    if not isinstance(value, str) or set(body) != {"value"}:
        raise bad_request('expected {"value": TEXT}')
    if not value:
        raise invalid([FieldError("value", "must not be empty")])
    if "\0" in value:
        raise invalid([FieldError("value", "must not contain a null character")])
    size = len(value.encode())
    if size > MAX_VALUE_BYTES:
        raise invalid([FieldError("value", f"is {size} bytes, limit is {MAX_VALUE_BYTES}")])
    return value


def _told(one: secret_index.SecretKey, files: SecretFiles, users: dict[tuple[str, str], list[str]]) -> Document:
    told: Document = {
        "project": one.project,
        "name": one.name,
        "key": one.key,
        "digest": one.digest,
        "setAt": rfc3339(float(int(one.at))),
        "usedBy": users.get((one.name, one.key), []),
    }
    if one.key not in files.keys(one.project, one.name):
        told["missing"] = True
    return told


def _users(tx: Tx, project: str) -> dict[tuple[str, str], list[str]]:
    """(secret, key) to the jobs that are given it."""
    users: dict[tuple[str, str], list[str]] = {}
    for job in resources.list_all(tx, "job", project):
        for where in job.spec.secret_env.values():
            users.setdefault((where.secret, where.key), []).append(printable(str(job.ref)))
    return users
