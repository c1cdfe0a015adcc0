"""The audit: a row for every write, in the transaction of the write, and for every call that was refused."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from api.http.envelope import printable
from api.http.services import Caller
from api.http.threads import Threads
from resources.event import Event
from resources.reference import Ref
from resources.resource import Resource
from store import events
from store.tx import Tx

TYPE = "AuditAppended"
SERVER = Ref("server", "rmctl")
SERVER_UID = "server"
"""What concerns no resource, or none that the caller may name, stands with the server."""
FLUSH_SECONDS = 1.0

log = structlog.get_logger("rmctl.audit")


def wrote(tx: Tx, caller: Caller, resource: Resource[Any, Any], outcome: str, *, spec_moved: bool = True) -> None:
    """`outcome` is created, configured, deleted or unchanged; what changed nothing leaves nothing behind."""
    match outcome:
        case "unchanged":
            return
        case "created":
            text = f"created generation {resource.generation}"
        case "deleted":
            text = "asked for its deletion"
        case _ if spec_moved:
            text = f"applied generation {resource.generation}"
        case _:
            text = "changed labels or annotations"
    message = f"{printable(caller.name)} {text}"
    events.add(tx, resource.ref, resource.uid, Event(TYPE, message, payload={"by": caller.name, "role": caller.role}))


def did(tx: Tx, caller: Caller, text: str) -> None:
    """A write that concerns no resource, told as what follows the caller's name."""
    message = f"{printable(caller.name)} {text}"
    events.add(tx, SERVER, SERVER_UID, Event(TYPE, message, payload={"by": caller.name, "role": caller.role}))


class Refusals:
    """Calls that were turned away. Those of strangers are counted and told together, or they could fill the store."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._strangers = 0
        self._flush: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    async def known(self, caller: Caller, message: str, method: str, path: str) -> None:
        """Durable when it returns."""
        log.warning("refused", by=caller.name, role=caller.role, method=method, path=printable(path), reason=message)
        payload = {"by": caller.name, "role": caller.role, "method": method, "path": printable(path)}
        event = Event(TYPE, f"refused: {message}", "Warning", payload)
        await self._threads.write(lambda tx: events.add(tx, SERVER, SERVER_UID, event))

    def stranger(self, method: str, path: str) -> None:
        """A call without a valid token."""
        log.warning("refused", by="unknown", method=method, path=printable(path), reason="no valid token")
        self._strangers += 1
        if self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._tell)

    def _tell(self) -> None:
        calls, self._strangers, self._flush = self._strangers, 0, None
        event = Event(TYPE, "refused: no valid token", "Warning", {"calls": calls})
        task = asyncio.ensure_future(self._threads.write(lambda tx: events.add(tx, SERVER, SERVER_UID, event)))
        self._writing.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("the audit could not be written", error=str(task.exception()))
