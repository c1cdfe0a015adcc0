"""`GET /diagnosis`: how the server's database and surroundings are, as plain facts."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import exchange
from api.http.endpoints import ROOT
from api.http.services import Services
from api.http.threads import Threads
from resources.canonical import Document
from store import diagnosis


class Diagnosis:
    """The endpoint of `rmctl doctor`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [Route(f"{ROOT}/diagnosis", self.told, methods=["GET"])]

    async def told(self, _request: Request) -> Response:
        content = await self._threads.read(diagnosis.content)
        found = await asyncio.to_thread(diagnosis.file, self._services.store)
        server = self._services.server
        about = {"kind": "Diagnosis", "apiVersion": "rmctl/v1", "version": server.version, "pid": server.pid}
        return exchange.answer({**about, "data": server.data, **found, **self._secrets(content)})

    def _secrets(self, content: Document) -> Document:
        """How many there are, and which have no value: a restored database may come without its files."""
        files, known = self._services.secrets, content["secrets"]
        missing = [
            f"{project}/{name} {key}"
            for project, name, key in known
            if files is None or key not in files.keys(project, name)
        ]
        return {**content, "secrets": len(known), "secretsMissing": missing}
