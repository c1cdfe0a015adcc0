"""One connection to the server, from Hello to its end: what goes up, what comes down, and the fence that both carry."""

from __future__ import annotations

from asyncio import CancelledError, InvalidStateError, current_task
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from agent.commands import Commands
from agent.contained import contained
from agent.errors import StreamLost
from agent.files import write_fence
from agent.heartbeats import Heartbeats
from agent.journal import Journal
from agent.outbox import Outbox, instance_of
from agent.processes import boottime
from agent.supervisor import Supervisor
from agent.tails import Tails
from api.proto import agent_pb2 as wire

if TYPE_CHECKING:  # there is no such class while it runs
    from grpc.aio import StreamStreamCall

    from api.proto.agent_pb2_grpc import AgentsAsyncStub

    Call = StreamStreamCall[wire.Up, wire.Down]

WELCOME_SECONDS = 10.0
MISSED_HEARTBEATS = 3

log = structlog.get_logger()


@dataclass(frozen=True)
class Parts:
    """What a session works with; all of it outlives the session."""

    journal: Journal
    outbox: Outbox
    supervisor: Supervisor
    tails: Tails
    commands: Commands


class Session:
    """`work` is where commands are carried out: a broken connection interrupts none."""

    def __init__(
        self, parts: Parts, work: TaskGroup, hello: wire.Hello, joined: Callable[[wire.Welcome], None]
    ) -> None:
        self._parts = parts
        self._work = work
        self._hello = hello
        self._joined = joined
        self._welcome = wire.Welcome()
        self._welcomed = anyio.Event()
        self._heartbeats = Heartbeats(boottime())
        self._over = False

    async def run(self, stub: AgentsAsyncStub) -> None:
        """Ends by raising: StreamLost, or what the call raised.

        What goes up is taken from the outbox by a task of this session. gRPC would not end one of its own when the
        server ends the call, and that would take, and lose, what is meant for the next session.
        """
        call: Call = stub.Session()  # type: ignore[call-arg]  # the stubs know only calls with an iterator
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._speak, call)
                tasks.start_soon(self._listen_for_silence)
                try:
                    async for down in call:
                        await self._take(down, tasks)
                except CancelledError:  # gRPC also says so when what we send fails
                    if _cancelled():
                        raise
                raise StreamLost("the stream ended")
        finally:
            self._over = True
            call.cancel()

    async def _speak(self, call: Call) -> None:
        """What reads from the call says why it is over; nothing is to be said about it here."""
        try:
            await self._send(call.write)
        except InvalidStateError:
            return
        except CancelledError:
            if _cancelled():
                raise

    async def _send(self, write: Callable[[wire.Up], Awaitable[None]]) -> None:
        """Hello, then heartbeats in time and between them whatever there is."""
        self._heartbeats.send(0, boottime())
        await write(wire.Up(hello=self._hello))
        await self._welcomed.wait()
        seq, due = 0, boottime()
        while True:
            if boottime() >= due:
                seq, due = seq + 1, boottime() + self._welcome.heartbeat_seconds
                self._heartbeats.send(seq, boottime())
                await write(wire.Up(heartbeat=wire.Heartbeat(seq=seq)))
            for message in self._parts.outbox.take():
                await write(message)
            with anyio.move_on_after(due - boottime()):
                await self._parts.outbox.more()

    async def _listen_for_silence(self) -> None:
        with anyio.move_on_after(WELCOME_SECONDS):
            await self._welcomed.wait()
        if not self._welcomed.is_set():
            raise StreamLost("the server does not answer")
        patience = MISSED_HEARTBEATS * self._welcome.heartbeat_seconds
        while True:
            left = self._heartbeats.answered + patience - boottime()
            if left <= 0:
                raise StreamLost("the server acknowledges no heartbeat")
            await anyio.sleep(left)

    async def _take(self, down: wire.Down, tasks: TaskGroup) -> None:
        match down.WhichOneof("message"):
            case "welcome":
                await self._resume(down.welcome)
                tasks.start_soon(self._parts.tails.run)
            case "command":
                self._work.start_soon(contained, self._obey, down.command)
            case "ack":
                await self._take_ack(down.ack)

    async def _resume(self, welcome: wire.Welcome) -> None:
        self._welcome = welcome
        self._acknowledge_heartbeat(0)
        self._joined(welcome)
        await to_thread.run_sync(self._acknowledge_reports, welcome.report_seq)
        self._parts.tails.rewind()
        self._parts.outbox.rewind(welcome.report_seq)
        for instance in welcome.superseded:
            log.info("a newer instance took over", instance=instance)
            self._work.start_soon(contained, self._parts.supervisor.supersede, instance)
        for folder in welcome.gone:
            forget = self._parts.supervisor.forget
            self._work.start_soon(contained, forget, folder.project, folder.job, folder.job_uid)
        self._welcomed.set()

    async def _obey(self, command: wire.Command) -> None:
        result = await self._parts.commands.carry_out(command, lambda: not self._over)
        if not self._over:
            self._parts.outbox.result(result)

    async def _take_ack(self, ack: wire.Ack) -> None:
        if ack.heartbeat:
            self._acknowledge_heartbeat(ack.heartbeat)
        if ack.seq:
            await to_thread.run_sync(self._acknowledge_reports, ack.seq)
        if ack.log_tail:
            self._parts.tails.acknowledge(ack.log_tail)

    def _acknowledge_heartbeat(self, seq: int) -> None:
        sent = self._heartbeats.acknowledge(seq, boottime())
        if sent is not None and self._welcome.fence_seconds > 0:
            write_fence(self._parts.supervisor.fence, sent + self._welcome.fence_seconds)

    def _acknowledge_reports(self, seq: int) -> None:
        try:
            bodies = self._parts.journal.acknowledge(seq)
        except OSError as error:
            log.warning("an acknowledgement is not in the journal", error=str(error))
            return
        for facts in map(instance_of, bodies):
            if not facts.alive:
                self._parts.supervisor.told(facts.id)


def _cancelled() -> bool:
    """Whether this task itself is being cancelled."""
    task = current_task()
    return task is not None and task.cancelling() > 0
