"""`POST /backup`: a verified copy of the store as a stream; `POST /backup/kept` says that it has arrived."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.problems import Problem, bad_request
from api.http.services import Services
from api.http.threads import Threads
from resources.instants import rfc3339
from store import backups
from store.backups import Verified
from store.tx import Tx

PART_BYTES = 1024 * 1024
SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_WHERE = 1024
REMEMBERED = 8


class Backups:
    """The endpoints of `rmctl backup`. One copy is made at a time."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads
        self._turn = asyncio.Lock()
        self._made: dict[str, Verified] = {}

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/backup", self.last, methods=["GET"]),
            Route(f"{ROOT}/backup", self.make, methods=["POST"]),
            Route(f"{ROOT}/backup/kept", self.kept, methods=["POST"]),
        ]

    async def last(self, _request: Request) -> Response:
        """The newest that arrived whole."""
        found = await self._threads.read(backups.last)
        told = {} if found is None else {**found, "at": rfc3339(float(found["at"]))}
        return exchange.answer({"kind": "Backup", "apiVersion": "rmctl/v1", **told})

    async def make(self, request: Request) -> Response:
        await exchange.body(request)
        folder = self._services.store.folder
        if folder is None:
            raise Problem(409, "Conflict", "this store is no file")
        place = folder / backups.FOLDER
        place.mkdir(mode=0o700, exist_ok=True)
        path = place / f"made-{self._services.token()}"
        async with self._turn:
            for left in place.glob("made-*"):  # by a server that was killed over it
                left.unlink(missing_ok=True)
            verified, file = await asyncio.to_thread(backups.opened, self._services.store.engine, path)
        self._remember(verified)
        headers = {
            "Content-Length": str(verified.size),
            "Rmctl-Backup-Sha256": verified.sha256,
            "Rmctl-Backup-Revision": str(verified.revision),
            "Rmctl-Backup-Schema": verified.schema,
            "Rmctl-Backup-Resources": str(verified.rows["resources"]),
        }
        return StreamingResponse(_parts(file), media_type="application/vnd.sqlite3", headers=headers)

    async def kept(self, request: Request) -> Response:
        """Only what has arrived whole counts as a backup."""
        sha256, where = _read(await exchange.document(request))
        verified = self._made.get(sha256)
        if verified is None:
            raise Problem(404, "NotFound", "no copy with this digest was made by this server")
        by = exchange.caller(request).name

        def write(tx: Tx) -> None:
            backups.keep_record(tx, verified, where)
            audit.of_the_server(tx, f"kept a backup in {where}", by=by, sha256=sha256, revision=verified.revision)

        await self._threads.write(write)
        return exchange.answer({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _remember(self, verified: Verified) -> None:
        self._made[verified.sha256] = verified
        for old in list(self._made)[:-REMEMBERED]:
            del self._made[old]


async def _parts(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while part := await asyncio.to_thread(file.read, PART_BYTES):
            yield part


def _read(body: Any) -> tuple[str, str]:
    sha256, where = (body.get("sha256"), body.get("file")) if isinstance(body, dict) else (None, None)
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
        raise bad_request("sha256: expected 64 hexadecimal digits")
    if not isinstance(where, str) or not 0 < len(where) <= MAX_WHERE:
        raise bad_request(f"file: expected 1 to {MAX_WHERE} characters")
    return sha256, printable(where, MAX_WHERE)
