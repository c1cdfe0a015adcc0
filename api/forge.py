"""The demo forge: pull requests in the shapes of GitHub's public REST API, which it forgets when it ends."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Document = dict[str, Any]
LIMIT = 5000
HOUR = 3600


@dataclass
class Pull:
    """`checks` are name to conclusion, empty while they run; `mends` are those that a second run would pass."""

    number: int
    head: str
    checks: dict[str, str] = field(default_factory=dict)
    mends: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    merged: str = ""
    closed: bool = False
    mergeable: bool | None = True
    merges: list[Document] = field(default_factory=list)
    """Every merge that was asked for, with what it was answered."""


class Forge:
    """`faults` are what the next calls of a path's ending meet: a status, or `lost` for a deed without an answer."""

    def __init__(self) -> None:
        self.pulls: dict[tuple[str, int], Pull] = {}
        self.faults: dict[str, list[str]] = {}
        self.remaining = LIMIT
        self.calls: list[str] = []

    def app(self) -> Starlette:
        repo = "/repos/{owner}/{repo}"
        return Starlette(
            routes=[
                Route(f"{repo}/pulls/{{number:int}}", self.pull, methods=["GET"]),
                Route(f"{repo}/pulls/{{number:int}}/reviews", self.reviews, methods=["GET"]),
                Route(f"{repo}/pulls/{{number:int}}/merge", self.merge, methods=["PUT"]),
                Route(f"{repo}/commits/{{sha}}/check-runs", self.check_runs, methods=["GET"]),
                Route(f"{repo}/check-runs/{{id:int}}/rerequest", self.rerequest, methods=["POST"]),
                Route("/_forge/{owner}/{repo}/{number:int}", self.arrange, methods=["GET", "PUT"]),
                Route("/_forge/faults", self.fail_next, methods=["PUT"]),
            ]
        )

    async def pull(self, request: Request) -> Response:
        found = self._find(request)
        if found is None:
            return self._problem(404, "Not Found")
        document = {
            "number": found.number,
            "state": "closed" if found.merged or found.closed else "open",
            "merged": bool(found.merged),
            "mergeable": found.mergeable,
            "merge_commit_sha": found.merged or None,
            "head": {"sha": found.head, "ref": "topic"},
            "base": {"ref": "main"},
        }
        return self._answer(request, document)

    async def reviews(self, request: Request) -> Response:
        found = self._find(request)
        if found is None:
            return self._problem(404, "Not Found")
        return self._answer(
            request,
            [{"user": {"login": name}, "state": "APPROVED", "commit_id": found.head} for name in found.approvals],
        )

    async def check_runs(self, request: Request) -> Response:
        found = next((one for one in self.pulls.values() if one.head == request.path_params["sha"]), None)
        if found is None:
            return self._problem(422, "No commit found for SHA")
        runs = [
            {
                "id": number,
                "name": name,
                "status": "completed" if conclusion else "in_progress",
                "conclusion": conclusion or None,
            }
            for number, (name, conclusion) in enumerate(found.checks.items(), found.number * 1000)
        ]
        return self._answer(request, {"total_count": len(runs), "check_runs": runs})

    async def rerequest(self, request: Request) -> Response:
        number, index = divmod(request.path_params["id"], 1000)
        found = self.pulls.get((self._repository(request), number))
        if found is None or index >= len(found.checks):
            return self._problem(404, "Not Found")
        name = list(found.checks)[index]
        found.checks[name] = "success" if name in found.mends else found.checks[name]
        return self._answer(request, {}, 201)

    async def merge(self, request: Request) -> Response:
        """Once; only at the head that the caller names."""
        found = self._find(request)
        if found is None:
            return self._problem(404, "Not Found")
        asked = json.loads(await request.body() or b"{}")
        fault = self._fault("merge")
        if fault == "limited":
            return self._problem(403, "You have exceeded a secondary rate limit.", {"retry-after": "7"})
        if fault and fault != "lost":
            found.merges.append({**asked, "answered": int(fault)})
            return self._problem(int(fault), "Server Error")
        if found.merged or found.closed or found.mergeable is False:
            code, message = 405, "Pull Request is not mergeable"
        elif asked.get("sha") not in (None, found.head):
            code, message = 409, "Head branch was modified. Review and try the merge again."
        else:
            code, message = 200, "Pull Request successfully merged"
            found.merged = hashlib.sha1(f"{found.number} {found.head}".encode(), usedforsecurity=False).hexdigest()
        found.merges.append({**asked, "answered": code})
        if code != 200:
            return self._problem(code, message)
        if fault == "lost":
            return self._problem(502, "the answer was lost")
        return self._answer(request, {"sha": found.merged, "merged": True, "message": message})

    async def arrange(self, request: Request) -> Response:
        """Not GitHub's: what a pull request is like from now on, and what has been asked of it."""
        key = (self._repository(request), request.path_params["number"])
        if request.method == "PUT":
            asked = json.loads(await request.body())
            standing = self.pulls.get(key)
            known = {} if standing is None else vars(standing)
            self.pulls[key] = Pull(**{**known, "number": key[1], **asked})
        found = self.pulls.get(key)
        return self._problem(404, "Not Found") if found is None else JSONResponse({**vars(found), "calls": self.calls})

    async def fail_next(self, request: Request) -> Response:
        asked = json.loads(await request.body())
        self.remaining = int(asked.pop("remaining", self.remaining))
        self.faults |= {name: [str(one) for one in faults] for name, faults in asked.items()}
        return JSONResponse({})

    def _find(self, request: Request) -> Pull | None:
        return self.pulls.get((self._repository(request), request.path_params["number"]))

    def _repository(self, request: Request) -> str:
        return f"{request.path_params['owner']}/{request.path_params['repo']}"

    def _fault(self, name: str) -> str:
        waiting = self.faults.get(name, [])
        return waiting.pop(0) if waiting else ""

    def _answer(self, request: Request, document: Any, code: int = 200) -> Response:
        """With a tag; what has not changed costs nothing of the limit."""
        text = json.dumps(document)
        tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
        if request.method == "GET" and request.headers.get("if-none-match") == tag:
            self.calls.append(f"304 {request.url.path}")
            return Response(status_code=304, headers={"etag": tag, **self._limits()})
        self.calls.append(f"{code} {request.url.path}")
        if self.remaining <= 0:
            return self._problem(403, "API rate limit exceeded")
        self.remaining -= 1
        return Response(text, code, {"etag": tag, **self._limits()}, "application/json; charset=utf-8")

    def _problem(self, code: int, message: str, headers: Mapping[str, str] = MappingProxyType({})) -> Response:
        return JSONResponse({"message": message, "status": str(code)}, code, {**self._limits(), **headers})

    def _limits(self) -> dict[str, str]:
        return {
            "x-ratelimit-limit": str(LIMIT),
            "x-ratelimit-remaining": str(max(self.remaining, 0)),
            "x-ratelimit-reset": str(int(time.time()) + HOUR),
        }
