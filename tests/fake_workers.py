"""Agents that run nothing and do as they are told: starts and stops are answered and reported, or refused."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import grpc
from grpc import aio

from agent.connection import OPTIONS
from api.proto import agent_pb2 as wire
from api.proto.agent_pb2_grpc import AgentsStub
from tests.fake_agents import credential_of

Manner = Literal["obeys", "refuses", "ends"]
"""`refuses` every start; `ends` whatever it starts at once, with exit 1."""
REFUSAL = "JOB_REJECTED_NO_CAPACITY"


class Worker:
    """One node. `starts` counts the starts that reached it."""

    def __init__(self, name: str, manner: Manner, vcpu: float) -> None:
        self.name = name
        self.manner = manner
        self.starts = 0
        self.instances: dict[str, wire.Instance] = {}
        self._milli = int(vcpu * 1000)
        self._reports = 0
        self._up: asyncio.Queue[wire.Up] = asyncio.Queue()

    def hello(self) -> wire.Hello:
        room = {"capacity_milli": self._milli, "cores": self._milli // 1000, "memory_mib": 1 << 20}
        inventory = wire.Inventory(**room, drivers=[wire.Driver(id="process")])
        return wire.Hello(
            node=self.name,
            credential=credential_of(self.name),
            boot_id="boot",
            agent_version="0",
            inventory=inventory,
            instances=self.instances.values(),
            report_seq=self._reports,
        )

    def say(self, up: wire.Up) -> None:
        self._up.put_nowait(up)

    async def said(self) -> wire.Up:
        return await self._up.get()

    def obey(self, command: wire.Command) -> None:
        match command.WhichOneof("action"):
            case "start":
                self._start(command.effect_id, command.start)
            case "stop":
                self._end(command.stop.instance_id, signal=15)
                self._result(command.effect_id)
            case _:
                return

    def _start(self, effect: str, start: wire.Start) -> None:
        self.starts += 1
        if self.manner == "refuses":
            self.say(wire.Up(result=wire.Result(effect_id=effect, outcome=wire.Result.REJECTED, code=REFUSAL)))
            return
        now = time.time()
        told = wire.Instance(
            job_uid=start.job_uid,
            job=start.job,
            instance_id=start.instance_id,
            instance_key=start.instance_key,
            attempt=start.attempt,
            state=wire.RUNNING,
            pid=100 + self.starts,
            started_at=now,
            at=now,
        )
        self._tell(told)
        self._result(effect, told.pid)
        if self.manner == "ends":
            self._end(start.instance_id, code=1)
        else:
            told.state, told.ready_at = wire.READY, time.time()
            self._tell(told)

    def _end(self, instance: str, *, code: int | None = None, signal: int | None = None) -> None:
        told = self.instances.get(instance)
        if told is None:
            return
        told.state, told.at, told.ran_seconds = wire.EXITED, time.time(), 0.05
        told.reason = "" if signal is None else "stopped as asked"
        told.exit.CopyFrom(wire.Exit(code=code, signal=signal))
        self._tell(told)
        del self.instances[instance]

    def _tell(self, told: wire.Instance) -> None:
        kept = wire.Instance()
        kept.CopyFrom(told)
        self.instances[told.instance_id] = kept
        self._reports += 1
        self.say(wire.Up(report=wire.Report(seq=self._reports, instance=kept)))

    def _result(self, effect: str, pid: int = 0) -> None:
        self.say(wire.Up(result=wire.Result(effect_id=effect, outcome=wire.Result.APPLIED, pid=pid)))


class Workers:
    """`cut` ends a node's stream for good: it is not heard again."""

    def __init__(self, address: str, manners: dict[str, Manner], *, vcpu: float = 4, heartbeat: float = 1.0) -> None:
        self._address = address
        self._heartbeat = heartbeat
        self.workers = {name: Worker(name, manner, vcpu) for name, manner in manners.items()}
        self._welcomed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._tasks = {name: asyncio.create_task(self._live(worker)) for name, worker in self.workers.items()}
        try:
            await asyncio.gather(*(self._welcomed[name].wait() for name in self.workers))
            yield
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def cut(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks[name], return_exceptions=True)

    async def _live(self, worker: Worker) -> None:
        async with aio.insecure_channel(self._address, options=OPTIONS) as channel:
            stream = AgentsStub(channel).Session()
            await stream.write(wire.Up(hello=worker.hello()))
            assert (await stream.read()) is not aio.EOF
            self._welcomed[worker.name].set()
            speaking = asyncio.create_task(self._speak(worker, stream))
            beating = asyncio.create_task(self._beat(worker))
            try:
                while (down := await stream.read()) is not aio.EOF:
                    if down.WhichOneof("message") == "command":
                        worker.obey(down.command)
            except grpc.RpcError:
                return
            finally:
                speaking.cancel()
                beating.cancel()

    async def _beat(self, worker: Worker) -> None:
        seq = 0
        while True:
            seq += 1
            worker.say(wire.Up(heartbeat=wire.Heartbeat(seq=seq)))
            await asyncio.sleep(self._heartbeat)

    async def _speak(self, worker: Worker, stream: aio.StreamStreamCall[wire.Up, wire.Down]) -> None:
        while True:
            await stream.write(await worker.said())
