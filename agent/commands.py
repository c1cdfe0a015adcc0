"""Commands from the server: written down, carried out once, and answered the same however often they come."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

import anyio
import structlog
from anyio import to_thread

from agent.endings import STOPPED
from agent.errors import CANCELLED, OTHER_FINGERPRINT, UNSUPPORTED, Refusal
from agent.execution import execute
from agent.journal import Journal
from agent.order import SAFE_ID, from_wire
from agent.outcome import Applied, Deferred, Outcome, Rejected
from agent.supervisor import RETRY_SECONDS, Supervisor
from agent.tails import Tails
from api.proto import agent_pb2 as wire

log = structlog.get_logger()
STARTS = ("start", "start_prepared")


class Commands:
    def __init__(self, journal: Journal, supervisor: Supervisor, tails: Tails) -> None:
        self._journal = journal
        self._supervisor = supervisor
        self._tails = tails
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._open = 0
        self._idle = anyio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Until no command is under way: only then does a Hello tell the whole truth."""
        while self._open:
            await self._idle.wait()

    async def carry_out(self, command: wire.Command, standing: Callable[[], bool] = lambda: True) -> wire.Result:
        """Commands about one instance are carried out one after the other, in the order in which they came.

        An Exec changes nothing that is told of: it waits for none of them, and none for it.
        `standing`: whether the stream that it came by is still open. Later ones have told the server what is here.
        """
        if command.WhichOneof("action") == "exec":
            return await self._execute(command)
        if not self._open:
            self._idle = anyio.Event()
        self._open += 1
        try:
            turn = self._turns.setdefault(_subject(command), anyio.Lock())
            async with turn:
                outcome = await self._once(command, standing)
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()
        return _result(command.effect_id, outcome)

    async def _once(self, command: wire.Command, standing: Callable[[], bool]) -> Outcome:
        known = self._journal.find(command.effect_id)
        if known is not None and known.fingerprint != command.fingerprint:
            return Rejected(OTHER_FINGERPRINT, "this effect was ordered before with another content")
        if known is not None and known.result is not None:
            return known.result
        kind = command.WhichOneof("action") or ""
        if known is None and kind in STARTS and self._journal.was_stopped(_subject(command)):
            return Rejected(CANCELLED, "a stop of this instance came first")
        try:
            if known is None:
                subject = _subject(command)
                await to_thread.run_sync(self._journal.take, command.effect_id, kind, command.fingerprint, subject)
            if kind in STARTS and not standing():
                return Deferred("the stream that it came by has ended", RETRY_SECONDS)
            outcome = await self._do(command)
            if not isinstance(outcome, Deferred):
                await to_thread.run_sync(self._journal.settle, command.effect_id, outcome)
        except OSError as error:
            log.warning("the journal takes nothing", error=str(error))
            return Deferred("the agent's journal cannot be written", RETRY_SECONDS)
        return outcome

    async def _do(self, command: wire.Command) -> Outcome:
        match command.WhichOneof("action"):
            case "start":
                return await self._start(command.start)
            case "start_prepared":
                return await self._supervisor.start_prepared(command.start_prepared.instance_id)
            case "stop":
                grace = command.stop.grace_seconds if command.stop.HasField("grace_seconds") else None
                return await self._supervisor.stop(command.stop.instance_id, STOPPED, grace)
            case "signal":
                return self._signal(command.signal)
            case "read_log":
                life = self._supervisor.find(command.read_log.instance_id)
                if life is not None:
                    await self._tails.ship(life)
                return Applied()
            case "forget":
                folder = command.forget.folder
                await self._supervisor.forget(folder.project, folder.job, folder.job_uid)
                return Applied()
            case other:
                return Rejected(UNSUPPORTED, f"this agent does not know the command {other or 'that was sent'}")

    async def _execute(self, command: wire.Command) -> wire.Result:
        life = self._supervisor.find(command.exec.instance_id)
        if life is None or not life.facts.alive or not command.exec.argv:
            return _result(command.effect_id, Rejected(UNSUPPORTED, "no such instance runs here"))
        result = _result(command.effect_id, Applied())
        result.executed.CopyFrom(await execute(life, command.exec))
        return result

    async def _start(self, start: wire.Start) -> Outcome:
        try:
            order = from_wire(start)
        except Refusal as refusal:
            return Rejected(refusal.code, refusal.detail)
        return await self._supervisor.start(order, start.secret_env, prepare=start.defer_start)

    def _signal(self, message: wire.Signal) -> Outcome:
        life = self._supervisor.find(message.instance_id)
        if life is None or not life.facts.alive or not 1 <= message.signal <= 64:
            return Rejected(UNSUPPORTED, "no such instance, or no such signal")
        life.signal(message.signal)
        return Applied()


def _subject(command: wire.Command) -> str:
    """The instance that a command is about; its effect where it is about none."""
    action = command.WhichOneof("action")
    instance = getattr(getattr(command, action), "instance_id", "") if action else ""
    return instance if SAFE_ID.fullmatch(instance) else command.effect_id


def _result(effect: str, outcome: Outcome) -> wire.Result:
    match outcome:
        case Applied(pid, detail):
            return wire.Result(effect_id=effect, outcome=wire.Result.APPLIED, pid=pid, detail=detail)
        case Rejected(code, detail):
            return wire.Result(effect_id=effect, outcome=wire.Result.REJECTED, code=code, detail=detail)
        case Deferred(detail, retry_after):
            outcome_number = wire.Result.DEFERRED
            return wire.Result(effect_id=effect, outcome=outcome_number, detail=detail, retry_after_seconds=retry_after)
