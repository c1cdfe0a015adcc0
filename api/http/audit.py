"""What people did beside changing a spec, kept as events of the resource that it was done to."""

from __future__ import annotations

from typing import Any

from api.http.problems import bad_request
from resources.event import Event
from resources.reference import Ref
from store import events
from store.tx import Tx

TYPE = "AuditAppended"
MAX_REASON = 1024
SERVER = Ref("server", "server")
"""What events of the server itself are about; no such kind is stored."""


def append(tx: Tx, ref: Ref, uid: str, verb: str, *, by: str, reason: str = "", **more: Any) -> None:
    """One event: who did what, and why."""
    because = f": {reason}" if reason else ""
    payload = {"verb": verb, "by": by, "reason": reason, **more}
    events.add(tx, ref, uid, Event(TYPE, f"{by}: {verb}{because}", payload=payload))


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


def of_the_server(tx: Tx, verb: str, *, by: str, reason: str = "", **more: Any) -> None:
    """As `append`, for what concerns no single resource."""
    append(tx, SERVER, "server", verb, by=by, reason=reason, **more)
