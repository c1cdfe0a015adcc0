"""`GET …/jobs/NAME/log`: the last words of an instance, kept after its end, and followed while it lives."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from api.http import queries
from api.http.endpoints import ROOT
from api.http.envelope import DEFAULT_PROJECT
from api.http.hub import Hub, changed_within
from api.http.threads import Threads
from resources.facts import LogTail
from resources.names import job_key
from resources.reference import Ref
from store import nodes, resources
from store.tx import Tx

POLL_SECONDS = 0.5
"""A tail moves no revision, so nothing hints at it."""
PROBE_BYTES = 1024
TEXT = "text/plain; charset=utf-8"


class Logs:
    """Plain text, byte by byte as the process wrote it."""

    def __init__(self, threads: Threads, hub: Hub) -> None:
        self._threads = threads
        self._hub = hub

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/namespaces/{{project}}/jobs/{{name}}/log", self.log, methods=["GET"]),
            Route(f"{ROOT}/jobs/{{name}}/log", self.log, methods=["GET"]),
        ]

    async def log(self, request: Request) -> Response:
        """`previous`: of the newest attempt that has ended; `tailBytes`: at most so many; `follow`: go on."""
        key = job_key(request.path_params["name"])
        name = key.wire if key else request.path_params["name"]
        ref = Ref("job", name, request.path_params.get("project", DEFAULT_PROJECT))
        query = request.query_params
        previous, follow = queries.flag(query, "previous"), queries.flag(query, "follow")
        limit = queries.number(query, "tailBytes")
        uid, tail = await self._threads.read(lambda tx: _newest(tx, ref, previous=previous))
        whole = tail.text if tail else b""
        text = whole if limit is None else whole[max(0, len(whole) - limit) :]
        headers = _about(tail, cut=len(text) < len(whole))
        if not follow or previous:
            return Response(text, media_type=TEXT, headers=headers)
        return StreamingResponse(self._follow(uid, tail, text), media_type=TEXT, headers=headers)

    async def _follow(self, uid: str, tail: LogTail | None, text: bytes) -> AsyncIterator[bytes]:
        """Ends when the job is gone; a new attempt begins with its first words."""
        yield text
        last = tail
        with self._hub.stream() as changed:
            while not self._hub.closed:
                changed.clear()
                await changed_within(changed, POLL_SECONDS)
                there, now = await self._threads.read(lambda tx: _now(tx, uid))
                if now is not None and (last is None or now.text != last.text or now.instance != last.instance):
                    same = last is not None and now.instance == last.instance
                    yield fresh(last.text if same and last else b"", now.text)
                    last = now
                if not there:
                    return


def _about(tail: LogTail | None, *, cut: bool) -> dict[str, str]:
    """Whose words they are, and whether there were more."""
    if tail is None:
        return {}
    about = {"Rmctl-Log-Instance": tail.instance, "Rmctl-Log-Attempt": str(tail.attempt)}
    return {**about, **({"Rmctl-Log-Truncated": "true"} if cut or tail.truncated else {})}


def fresh(before: bytes, now: bytes) -> bytes:
    """What a tail holds beyond the one before it: both are the last bytes of one growing text."""
    if now.startswith(before):
        return now[len(before) :]
    probe = before[-PROBE_BYTES:]
    at = now.rfind(probe)
    return now[at + len(probe) :] if at >= 0 else now


def _newest(tx: Tx, ref: Ref, *, previous: bool) -> tuple[str, LogTail | None]:
    job = resources.get(tx, ref)
    lives = any(one.alive for one in nodes.list_instances(tx, uid=job.uid))
    return job.uid, chosen(nodes.list_log_tails(tx, job.uid), previous=previous and lives)


def _now(tx: Tx, uid: str) -> tuple[bool, LogTail | None]:
    return resources.by_uid(tx, uid) is not None, chosen(nodes.list_log_tails(tx, uid), previous=False)


def chosen(tails: tuple[LogTail, ...], *, previous: bool) -> LogTail | None:
    """The tail of the newest instance, or of the one before it; `tails` come newest first."""
    wanted = tails[1:2] if previous else tails[:1]
    return wanted[0] if wanted else None
