"""Agents that run nothing: streams with a Hello and heartbeats, many in one process, dialling again as real ones do."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from grpc import aio

from agent.connection import OPTIONS, pauses
from api.proto import agent_pb2 as wire
from api.proto.agent_pb2_grpc import AgentsStub
from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import credentials, resources
from store.store import Store
from tests.builders import a_pool

HEARTBEAT_SECONDS = 5.0


def credential_of(name: str) -> str:
    return f"{name}-{'credential' * 4}"


def prepare(store: Store, names: list[str], pool: str = "default") -> None:
    """Nodes that joined before, so that their agents come with a credential."""

    def write(tx):
        if resources.find(tx, Ref("pool", pool)) is None:
            resources.create(tx, Ref("pool", pool), a_pool())
        for name in names:
            resources.create(tx, Ref("node", name), {"pool": pool, "provider": "agent"})
            credentials.issue_node(tx, credential_of(name), name)

    store.write(write)


def prepare_folder(folder, names: list[str]) -> None:
    """As `prepare`, for a data folder whose server does not run."""
    store = Store.open(folder, Threads(), synchronous="OFF")
    try:
        prepare(store, names)
    finally:
        store.close()


class Fakes:
    """`address` is what real agents are given. `arrivals` are the times (monotonic) of every Welcome."""

    def __init__(self, address: str, names: list[str], heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._address = address
        self._heartbeat = heartbeat
        self.names = names
        self.arrivals: list[float] = []
        self.acknowledged = 0
        self.connected = 0
        self._busy = asyncio.Event()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._live(name)) for name in self.names]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def all_connected(self, number: int | None = None) -> None:
        wanted = len(self.names) if number is None else number
        async with self._changed:
            await self._changed.wait_for(lambda: self.connected == wanted)

    @asynccontextmanager
    async def in_a_hurry(self) -> AsyncIterator[None]:
        """Every agent sends its next heartbeat as soon as the last one is acknowledged."""
        self._busy.set()
        try:
            yield
        finally:
            self._busy.clear()

    async def _live(self, name: str) -> None:
        waits = pauses(random.uniform)
        while True:
            if await self._once(name):
                waits = pauses(random.uniform)
            await asyncio.sleep(next(waits))

    async def _once(self, name: str) -> bool:
        """Whether it was welcomed."""
        welcomed = False
        try:
            async with aio.insecure_channel(self._address, options=OPTIONS) as channel:
                stream = AgentsStub(channel).Session()
                await stream.write(wire.Up(hello=a_hello(name)))
                if (await stream.read()) is not aio.EOF:
                    welcomed = True
                    self.arrivals.append(time.monotonic())
                    await self._count(1)
                    await self._beat(stream)
        except (grpc.RpcError, asyncio.InvalidStateError):
            pass
        finally:
            if welcomed:
                await asyncio.shield(self._count(-1))
        return welcomed

    async def _beat(self, stream) -> None:
        """Until the stream ends."""
        seq = 0
        reading = asyncio.ensure_future(stream.read())
        wait = random.uniform(0, self._heartbeat)
        while True:
            if not self._busy.is_set():
                hurry = asyncio.ensure_future(self._busy.wait())
                done, _ = await asyncio.wait({hurry, reading}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                hurry.cancel()
                if reading in done:
                    if reading.result() is aio.EOF:
                        return
                    reading = asyncio.ensure_future(stream.read())
                    continue
            seq += 1
            await stream.write(wire.Up(heartbeat=wire.Heartbeat(seq=seq)))
            while True:
                down = await reading
                if down is aio.EOF:
                    return
                reading = asyncio.ensure_future(stream.read())
                if down.WhichOneof("message") == "ack" and down.ack.heartbeat == seq:
                    break
            self.acknowledged += 1
            wait = self._heartbeat

    async def _count(self, change: int) -> None:
        async with self._changed:
            self.connected += change
            self._changed.notify_all()


def a_hello(name: str) -> wire.Hello:
    drivers = [wire.Driver(id="process")]
    inventory = wire.Inventory(capacity_milli=4000, cores=4, memory_mib=8192, drivers=drivers)
    return wire.Hello(node=name, credential=credential_of(name), boot_id="boot", agent_version="0", inventory=inventory)
