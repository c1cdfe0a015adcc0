"""The audit: a row for every write, in the transaction of the write, and for every call that was refused."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from api.http.envelope import printable
from api.http.problems import bad_request
from api.http.services import Caller
from api.http.threads import Threads
from resources.event import AUDIT, Event
from resources.reference import Ref
from resources.resource import Resource
from store import events
from store.tx import Tx

SERVER = Ref("server", "server")
SERVER_UID = "server"
"""What concerns no resource, or none that the caller may name, stands with the server; no such kind is stored."""
MAX_REASON = 1024
FLUSH_SECONDS = 1.0

log = structlog.get_logger("rmctl.audit")


def append(tx: Tx, ref: Ref, uid: str, verb: str, *, by: str, reason: str = "", **more: Any) -> None:
    """One event: who did what, and why."""
    because = f": {reason}" if reason else ""
    payload = {"verb": verb, "by": by, "reason": reason, **more}
    events.add(tx, ref, uid, Event(AUDIT, f"{printable(by)} {verb}{because}", payload=payload))


def of_the_server(tx: Tx, verb: str, *, by: str, reason: str = "", **more: Any) -> None:
    """As `append`, for what concerns no single resource."""
    append(tx, SERVER, SERVER_UID, verb, by=by, reason=reason, **more)


def wrote(tx: Tx, caller: Caller, resource: Resource[Any, Any], outcome: str, *, spec_moved: bool = True) -> None:
    """`outcome` is created, configured, deleted or unchanged; what changed nothing leaves nothing behind."""
    match outcome:
        case "unchanged":
            return
        case "created":
            verb = f"created generation {resource.generation}"
        case "deleted":
            verb = "asked for its deletion"
        case _ if spec_moved:
            verb = f"applied generation {resource.generation}"
        case _:
            verb = "changed labels or annotations"
    append(tx, resource.ref, resource.uid, verb, by=caller.name)


def reason_of(body: Any, *, required: bool = True) -> str:
    """The reason in a request. Raises a 400 problem for one that is missing, or is no line of text."""
    reason = body.get("reason") if isinstance(body, dict) else None
    if reason is None and not required:
        return ""
    if not isinstance(reason, str) or not reason.strip():
        raise bad_request("reason: required", hint="say why: it is kept in the audit")
    if len(reason) > MAX_REASON:
        raise bad_request(f"reason: at most {MAX_REASON} characters")
    return reason


class Refusals:
    """Calls that were turned away. Those of strangers are counted and told together, or they could fill the store."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._strangers = 0
        self._flush: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[int]] = set()

    async def known(self, caller: Caller, message: str, method: str, path: str) -> None:
        """Durable when it returns."""
        log.warning("refused", by=caller.name, role=caller.role, method=method, path=printable(path), reason=message)
        payload = {"by": caller.name, "role": caller.role, "method": method, "path": printable(path)}
        event = Event(AUDIT, f"refused: {message}", "Warning", payload)
        await self._threads.write(lambda tx: events.add(tx, SERVER, SERVER_UID, event))

    def stranger(self, method: str, path: str) -> None:
        """A call without a valid token."""
        log.warning("refused", by="unknown", method=method, path=printable(path), reason="no valid token")
        self._strangers += 1
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._tell)

    def _tell(self) -> None:
        calls, self._strangers, self._flush = self._strangers, 0, None
        event = Event(AUDIT, "refused: no valid token", "Warning", {"calls": calls})
        task = asyncio.ensure_future(self._threads.write(lambda tx: events.add(tx, SERVER, SERVER_UID, event)))
        self._writing.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[int]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("the audit could not be written", error=str(task.exception()))
