"""`POST …/jobs/NAME/exec`: one command beside a job that runs, and what it printed."""

from __future__ import annotations

import asyncio
import base64
import binascii
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.problems import Problem, bad_request, conflict
from api.http.services import Services
from api.http.threads import Threads
from api.http.waking import any_name, on_each
from controllers.providers.agent_commands import ExecJob
from resources.canonical import Document
from resources.effect import Applied, Deferred, Rejected, Unknown
from resources.facts import Instance
from resources.node import Node
from resources.reference import Ref
from store import nodes, resources
from store.tx import Tx

AT_ONCE = 16
MAX_ARGUMENTS = 256
MAX_COMMAND_BYTES = 64 * 1024
MAX_INPUT_BYTES = 1024 * 1024
LONGEST_SECONDS = 600.0
DEFAULT_SECONDS = 60.0
MARGIN_SECONDS = 5.0
"""How much longer than the command the answer may take."""
RETURN_SECONDS = 30.0
"""How long a node that does not count as silent may take to connect again."""
EXPECTED = frozenset({"booting", "running", "stopping"})
AGAIN_SECONDS = 0.2
FIELDS = ("command", "timeoutSeconds", "input")


class Executing:
    """The endpoint of `rmctl exec`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads
        self._waiting = ThreadPoolExecutor(AT_ONCE, "http-exec")

    def routes(self) -> list[Route]:
        return [Route(path, self.execute, methods=["POST"]) for path in on_each("exec")]

    async def execute(self, request: Request) -> Response:
        ref = any_name(request)
        if ref.kind != "job":
            raise bad_request(f"{ref}: commands run beside jobs", hint="rmctl exec BUNDLE/ROLE/JOB -- COMMAND")
        command, seconds, given = _read(await exchange.document(request))
        by = exchange.caller(request).name
        token = self._services.token()
        instance = await self._threads.write(lambda tx: _begun(tx, ref, command, by))
        order = ExecJob(f"exec:{token}", instance.id, command, seconds, given)
        run = self._services.execute
        if run is None:
            raise Problem(503, "ServiceUnavailable", "this server reaches no nodes")
        loop = asyncio.get_running_loop()
        until = loop.time() + RETURN_SECONDS
        while True:
            answer = await loop.run_in_executor(self._waiting, run, instance.node, order, seconds + MARGIN_SECONDS)
            if not isinstance(answer, Deferred) or loop.time() > until or not await self._expected(instance.node):
                break
            await asyncio.sleep(AGAIN_SECONDS)
        match answer:
            case Applied(detail=detail) if "code" in detail:
                return exchange.answer(_told(instance, detail))
            case Rejected(error=error):
                raise conflict(ref, error)
            case Deferred(reason=reason):
                raise Problem(503, "ServiceUnavailable", reason, retry_after=5)
            case Unknown(reason=reason):
                raise Problem(504, "Timeout", f"{reason}; whether {command[0]} ran is not known")
            case _:
                raise Problem(502, "BadGateway", f"{instance.node} answered, but not what became of {command[0]}")

    async def _expected(self, node: str) -> bool:
        """Whether a node that is not connected may be back soon: after a restart of the server it is not silent yet."""
        found = await self._threads.read(lambda tx: resources.find(tx, Ref("node", node)))
        return isinstance(found, Node) and found.status.phase in EXPECTED


def _begun(tx: Tx, ref: Ref, command: tuple[str, ...], by: str) -> Instance:
    """The newest living instance, and a note of who asked. Arguments may be secret: only the program is named."""
    job = resources.get(tx, ref)
    alive = [one for one in nodes.list_instances(tx, uid=job.uid) if one.alive and one.state != "prepared"]
    if not alive:
        raise conflict(ref, "does not run", hint=f"rmctl why {ref}")
    instance = max(alive, key=lambda one: one.attempt)
    rest = len(command) - 1
    more = f" with {rest} argument{'s' * (rest != 1)}" if rest else ""
    audit.append(tx, ref, job.uid, f"exec {command[0]}{more}", by=by, node=instance.node, instance=instance.id)
    return instance


def _told(instance: Instance, detail: Document) -> Document:
    return {
        "kind": "Executed",
        "apiVersion": "rmctl/v1",
        "node": instance.node,
        "instance": instance.id,
        "code": detail["code"],
        "signal": detail["signal"] or None,
        "stdout": base64.b64encode(detail["output"]).decode(),
        "stderr": base64.b64encode(detail["error"]).decode(),
        "truncated": detail["truncated"],
        "timedOut": detail["timedOut"],
    }


def _read(body: Any) -> tuple[tuple[str, ...], float, bytes]:
    """The command, its seconds and its input. Raises a 400 problem."""
    if not isinstance(body, dict) or any(key not in FIELDS for key in body):
        raise bad_request(f"expected an object with {', '.join(FIELDS)}")
    command = body.get("command")
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        raise bad_request("command: expected a non-empty list of texts")
    if not command[0] or any("\0" in part for part in command):
        raise bad_request("command: needs a program, and no null characters")
    if len(command) > MAX_ARGUMENTS or sum(len(part.encode()) for part in command) > MAX_COMMAND_BYTES:
        raise bad_request(f"command: at most {MAX_ARGUMENTS} texts and {MAX_COMMAND_BYTES} bytes")
    seconds = body.get("timeoutSeconds", DEFAULT_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= LONGEST_SECONDS:
        raise bad_request(f"timeoutSeconds: expected a number above 0, at most {LONGEST_SECONDS:g}")
    try:
        given = base64.b64decode(str(body.get("input") or ""), validate=True)
    except binascii.Error:
        raise bad_request("input: expected base64") from None
    if len(given) > MAX_INPUT_BYTES:
        raise bad_request(f"input: at most {MAX_INPUT_BYTES} bytes")
    return tuple(command), float(seconds), given
