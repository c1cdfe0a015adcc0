"""GitHub, as far as pull requests need it: what is, and the one merge at the head that was agreed on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import gidgethub
import httpx
from gidgethub.httpx import GitHubAPI

from controllers.runtime.environment import Threads
from resources.effect import Absent, Applied, Deferred, Rejected, Unknown

API = "https://api.github.com"
CONNECT_SECONDS, READ_SECONDS = 5.0, 20.0
LEAST_WAIT_SECONDS, UNTOLD_WAIT_SECONDS, MOST_WAIT_SECONDS = 1.0, 60.0, 3600.0
GOOD = frozenset({"success", "neutral", "skipped"})
_seen: dict[str, Any] = {}
"""Answers by address with their tags, so that what has not changed costs nothing of the rate limit."""


class RateLimited(Exception):
    """Ask again after so many seconds."""

    def __init__(self, after: float) -> None:
        super().__init__(f"the forge limits how often it is asked; again in {after:.0f} s")
        self.after = after


class NotAuthorised(Exception):
    """The credential may not see or do this."""


@dataclass(frozen=True)
class PullRequest:
    """`mergeable` None: the forge has not found out yet."""

    head_sha: str
    merged: bool
    merge_sha: str
    closed: bool
    mergeable: bool | None


@dataclass(frozen=True)
class Checks:
    """Names by what became of them."""

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class Client(GitHubAPI):
    """As gidgethub's, which tells a limit by what is left only, and not by what else GitHub says of one."""

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        status, told, answer = await super()._request(method, url, headers, body)
        left = told.get("x-ratelimit-remaining") != "0"
        if status == 429 or (status == 403 and left and ("retry-after" in told or b"rate limit" in answer.lower())):
            after = str(told.get("retry-after", ""))
            raise RateLimited(_bounded(float(after) if after.isdecimal() else UNTOLD_WAIT_SECONDS))
        return status, told, answer


class GitHub:
    """Within `connected`. Raises RateLimited, NotAuthorised, and what the client raises for anything else."""

    def __init__(self, api: GitHubAPI) -> None:
        self._api = api

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        found = await self._get(f"/repos/{repository}/pulls/{number}")
        return PullRequest(
            head_sha=str(found["head"]["sha"]),
            merged=bool(found["merged"]),
            merge_sha=str(found.get("merge_commit_sha") or ""),
            closed=found["state"] == "closed",
            mergeable=found.get("mergeable"),
        )

    async def checks(self, repository: str, sha: str, required: Sequence[str] | None = None) -> Checks:
        """Of one commit; of all checks, or of the required ones, which count as pending until they are there."""
        states: dict[str, str] = dict.fromkeys(required or (), "pending")
        async for run in self._every(f"/repos/{repository}/commits/{sha}/check-runs", "check_runs"):
            if required is None or run["name"] in required:
                done = run["status"] == "completed"
                state = "pending" if not done else "passed" if run["conclusion"] in GOOD else "failed"
                states[str(run["name"])] = state
        named = {
            word: tuple(sorted(n for n, s in states.items() if s == word)) for word in ("passed", "failed", "pending")
        }
        return Checks(**named)

    async def failed_runs(self, repository: str, sha: str) -> list[int]:
        """Ids of the check runs of a commit that failed."""
        every = self._every(f"/repos/{repository}/commits/{sha}/check-runs", "check_runs")
        return [int(r["id"]) async for r in every if r["status"] == "completed" and r["conclusion"] not in GOOD]

    async def rerun(self, repository: str, check_run: int) -> None:
        with _told():
            await self._api.post(f"/repos/{repository}/check-runs/{check_run}/rerequest", data={})

    async def approvals(self, repository: str, number: int, sha: str) -> int:
        """People whose latest word on this very head is a yes; none where somebody's is a no."""
        latest: dict[str, str] = {}
        async for review in self._every(f"/repos/{repository}/pulls/{number}/reviews", None):
            if review["state"] == "CHANGES_REQUESTED" or (review["state"] == "APPROVED" and review["commit_id"] == sha):
                latest[str(review["user"]["login"])] = str(review["state"])
        return 0 if "CHANGES_REQUESTED" in latest.values() else len(latest)

    async def observe_merge(self, repository: str, number: int) -> Applied | Absent | Unknown:
        try:
            found = await self.pull_request(repository, number)
        except RateLimited as limit:
            return Unknown(str(limit))
        return Applied(found.merge_sha) if found.merged else Absent()

    async def merge(
        self, repository: str, number: int, sha: str, method: str
    ) -> Applied | Rejected | Deferred | Unknown:
        """The forge itself refuses it where the head is another by then."""
        try:
            with _told():
                answer = await self._api.put(
                    f"/repos/{repository}/pulls/{number}/merge", data={"sha": sha, "merge_method": method}
                )
        except RateLimited as limit:
            return Deferred(str(limit), limit.after)
        except NotAuthorised as error:
            return Rejected(str(error), "NotAuthorised")
        except gidgethub.GitHubBroken as error:
            return Unknown(f"the forge answered {error}")
        except gidgethub.BadRequest as error:
            code = "HeadChanged" if error.status_code == 409 else "MergeRejected"
            return Rejected(f"{int(error.status_code)}: {error}", code)
        except httpx.ConnectError as error:
            return Deferred(f"the forge cannot be reached: {error}", LEAST_WAIT_SECONDS * 10)
        except httpx.HTTPError as error:
            return Unknown(f"{type(error).__name__}: {error}")
        return Applied(str(answer["sha"]))

    async def _get(self, path: str) -> Any:
        with _told():
            return await self._api.getitem(path)

    async def _every(self, path: str, key: str | None) -> AsyncIterator[Any]:
        with _told():
            async for one in self._api.getiter(f"{path}?per_page=100", iterable_key=key or "items"):
                yield one


class _told:  # noqa: N801  it reads as a word
    """Turns the client's errors into those that a caller tells apart."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        match error:
            case gidgethub.RateLimitExceeded():
                raise RateLimited(_bounded(error.rate_limit.reset_datetime.timestamp() - Threads().now())) from error
            case gidgethub.BadRequest(status_code=401 | 403 | 404):
                raise NotAuthorised(f"{int(error.status_code)}: {error}") from error
            case _:
                return


def _bounded(seconds: float) -> float:
    return min(max(seconds, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS)


def site(api: str) -> str:
    """The address that git knows a forge by: without the path, and `api.`, of its API."""
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


@asynccontextmanager
async def connected(token: str | None, api: str = API) -> AsyncIterator[GitHub]:
    """A client for one pass."""
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client:
        yield GitHub(Client(client, "rmctl", oauth_token=token, cache=_seen, base_url=api))
