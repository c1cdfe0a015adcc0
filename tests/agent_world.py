"""A store, the agents' door and real agent processes, for tests that wait for what is stored and never for time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from agent.leftovers import end_all
from agent.processes import lives, stat
from api.agent_facts import AgentFacts
from api.agents import AgentDoor, forgetting
from controllers.providers.agent_commands import Command, StartJob, StopJob
from controllers.providers.agents import Connections
from controllers.runtime.environment import Threads
from resources.allocation import Allocation
from resources.effect import Answer
from resources.facts import Instance, LogTail
from resources.job import JobSpec
from resources.reference import Ref
from store import credentials, ledger, nodes, resources
from store.errors import Full
from store.store import Store
from store.tx import Tx
from tests.builders import POOL, a_pool

TOKEN = "a-join-token-of-more-than-16-characters"
RUN = """
import json, sys
exec(sys.argv[2])
from pathlib import Path
from agent.main import main
from agent.settings import AgentSettings
given = json.loads(sys.argv[1])
sys.exit(main(AgentSettings(**(given | {"data": Path(given["data"])}))))
"""


class Watched(AgentFacts):
    """Rings after every write, so that a test can look again."""

    def __init__(self, store: Store, connections: Connections, ring: Callable[[], None]) -> None:
        super().__init__(store, lambda node, folder: connections.tell(node, forgetting(folder)))
        self._ring = ring
        self.arrivals: Counter[str] = Counter()
        self.beats = 0
        self.full = False
        """The disk takes nothing any more."""

    def hello(self, hello: Any) -> Any:
        answer = super().hello(hello)
        self._ring()
        return answer

    def heartbeats(self, beating: Sequence[str]) -> None:
        if self.full:
            raise Full
        super().heartbeats(beating)
        self.beats += len(beating)
        self._ring()

    def report(self, node: str, seq: int, instance: Instance) -> None:
        super().report(node, seq, instance)
        self._ring()

    def log_tail(self, node: str, tail: LogTail) -> None:
        super().log_tail(node, tail)
        self._ring()

    def hurry(self, node: str) -> None:
        super().hurry(node)
        self.arrivals[node] += 1
        self._ring()

    def disconnected(self, node: str) -> None:
        super().disconnected(node)
        self._ring()


@dataclass(frozen=True)
class AgentProcess:
    """An agent under test, and the folder that outlives it."""

    process: subprocess.Popen[bytes]
    data: Path
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text()

    async def ended(self) -> int:
        return await to_thread.run_sync(self.process.wait)

    async def kill(self) -> None:
        """As a crash would: nothing is tidied."""
        self.process.send_signal(signal.SIGKILL)
        await self.ended()


class World:
    def __init__(self, folder: Path, store: Store, heartbeat_seconds: float) -> None:
        self.folder = folder
        self.store = store
        self.socket = f"unix:{folder}/agents.sock"
        self.connections = Connections()
        self.heartbeat_seconds = heartbeat_seconds
        self._loop = asyncio.get_running_loop()
        self._looks: set[anyio.Event] = set()
        self._agents: list[AgentProcess] = []
        self._jobs = 0
        self._opened = 0
        self.door: AgentDoor | None = None

    async def open(self) -> None:
        """On a socket of its own, since gRPC removes that of a server that stopped whenever it gets to it."""
        self.facts = Watched(self.store, self.connections, lambda: self._loop.call_soon_threadsafe(self._ring))
        self.door = AgentDoor(self.facts, self.connections, heartbeat_seconds=self.heartbeat_seconds)
        self._opened += 1
        own = self.folder / f"agents-{self._opened}.sock"
        await self.door.start([f"unix:{own}"])
        link = self.folder / "agents.new"
        link.symlink_to(own)
        link.rename(self.folder / "agents.sock")

    async def shut(self) -> None:
        """The server is gone for a while."""
        assert self.door is not None
        await self.door.stop(0)

    async def close(self) -> None:
        for agent in self._agents:
            if agent.process.poll() is None:
                agent.process.terminate()
            await agent.ended()
        for data in {agent.data for agent in self._agents}:
            await to_thread.run_sync(lambda data=data: end_all(data, grace=0))
        await self.shut()

    def _ring(self) -> None:
        for look in self._looks:
            look.set()

    async def until(self, find: Callable[[Tx], Any]) -> Any:
        """The first true answer of `find`, asked after each thing that is stored."""
        look = anyio.Event()
        while True:
            self._looks.add(look)
            with self.store.read() as tx:
                found = find(tx)
            if found:
                self._looks.discard(look)
                return found
            await look.wait()
            self._looks.discard(look)
            look = anyio.Event()

    async def agent(self, name: str = "node-a", *, wait: bool = True, first: str = "", **settings: Any) -> AgentProcess:
        """A new process on the node's folder, joined and connected. `first` is Python that it runs before anything."""
        data = self.folder / name
        if not data.exists() and "token" not in settings:
            self.store.write(lambda tx: credentials.issue_join(tx, TOKEN + name, name, pool="local"))
            settings["token"] = TOKEN + name
        given = {"node": name, "server": self.socket, "data": str(data), "capacity": 4.0} | settings
        output = self.folder / f"{name}.out"
        before = self.facts.arrivals[name]
        agent = AgentProcess(await to_thread.run_sync(_run, given, output, first), data, output)
        self._agents.append(agent)
        if wait:
            await self._connected(agent, lambda: self.facts.arrivals[name] > before)
        return agent

    async def _connected(self, agent: AgentProcess, arrived: Callable[[], bool]) -> None:
        async def fail_early() -> None:
            code = await to_thread.run_sync(agent.process.wait, abandon_on_cancel=True)
            raise AssertionError(f"the agent ended with {code}: {agent.said}")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail_early)
            await self.until(lambda _tx: arrived())
            tasks.cancel_scope.cancel()

    def job(self, node: str = "node-a", **fields: Any) -> StartJob:
        """A job with room claimed for it on the node, and the command that starts its first instance."""
        self._jobs += 1
        name = f"b{self._jobs}.primary.web"
        asks = {"requiredCapacity": 0.1, "onRuntimeFailure": "avoidSpare"} | fields.pop("requirements", {})
        document = {
            "bundle": f"b{self._jobs}",
            "role": "primary",
            "index": 0,
            "pool": "local",
            "jobName": "web",
            "requirements": asks,
            "stopGraceSeconds": 5,
        } | fields
        ref = Ref("job", name, "default")

        def create(tx: Tx) -> str:
            uid = str(resources.create(tx, ref, document).uid)
            ledger.set_room(tx, node, "local", {"vcpu": (9000, 9000), "cores": (9, 9), "memory": (1 << 20, 1 << 20)})
            room = Allocation(f"{uid}:1", uid, ref, f"{uid[-12:]}-1-1", "local", node, 1)
            ledger.reserve(tx, room)
            return uid

        uid = self.store.write(create)
        spec = JobSpec.model_validate(document)
        return StartJob(
            effect=f"{uid}:start/1/1",
            fingerprint="f1",
            project="default",
            job=name,
            job_uid=uid,
            instance=f"{uid[-12:]}-1-1",
            instance_key="primary",
            attempt=1,
            spec=spec,
        )

    async def send(self, command: Command, node: str = "node-a", seconds: float = 60.0) -> Answer:
        return await to_thread.run_sync(lambda: self.connections.send(node, command, seconds=seconds))

    async def stop(self, job: StartJob, node: str = "node-a", grace: float | None = None) -> Answer:
        return await self.send(StopJob(f"{job.job_uid}:stop/1/1", "f2", job.instance, grace), node)

    async def state(self, job: StartJob, *states: str) -> Instance:
        """The job's instance once it is in one of these states."""
        return await self.until(
            lambda tx: next(
                (i for i in nodes.list_instances(tx, uid=job.job_uid) if i.id == job.instance and i.state in states),
                None,
            )
        )

    async def tail(self, job: StartJob, enough: Callable[[bytes], bool]) -> LogTail:
        return await self.until(
            lambda tx: next((tail for tail in nodes.list_log_tails(tx, job.job_uid) if enough(tail.text)), None)
        )

    async def heartbeats(self, count: int) -> None:
        """Until so many more were stored, of any node."""
        enough = self.facts.beats + count
        await self.until(lambda _tx: self.facts.beats >= enough)

    def shim(self, job: StartJob, node: str = "node-a") -> int:
        """Pid of the shim of the job's instance."""
        return int(json.loads((self.folder / node / "instances" / job.instance / "shim.json").read_text())["pid"])

    def move_on(self, job: StartJob, instance: str) -> None:
        """The job's controller has given this instance up for another one."""

        def write(tx: Tx) -> None:
            stored = resources.by_uid(tx, job.job_uid)
            assert stored is not None
            resources.replace_status(tx, stored, stored.status.model_copy(update={"instance_id": instance}))

        self.store.write(write)

    def delete(self, job: StartJob) -> None:
        """The job's record goes, as it does once nothing of the job lives."""

        def write(tx: Tx) -> None:
            stored = resources.by_uid(tx, job.job_uid)
            assert stored is not None
            assert resources.request_deletion(tx, stored) is None

        self.store.write(write)

    def work(self, job: StartJob, node: str = "node-a") -> Path:
        """The job's own folder on its node."""
        return self.folder / node / "jobs" / job.job


def _run(settings: dict[str, Any], output: Path, first: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", RUN, json.dumps(settings), first]
    with output.open("ab") as file:
        return subprocess.Popen(argv, stdout=file, stderr=file, start_new_session=True)


def once_there(name: str) -> dict[str, Any]:
    """Readiness of a job that makes a file when it has come to the point."""
    return {"exec": ["test", "-e", name], "periodSeconds": 0.05}


def attempt(job: StartJob, number: int) -> StartJob:
    """The same job started again."""
    instance = f"{job.instance[:-1]}{number}"
    return replace(job, instance=instance, attempt=number, effect=f"{job.job_uid}:start/1/{number}")


def alive(pid: int) -> bool:
    found = stat(pid)
    return found is not None and lives(pid, found.start_time)


async def gone(pid: int) -> None:
    """Until a process that is not ours has ended."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            await anyio.wait_readable(handle)
        finally:
            os.close(handle)


@contextlib.asynccontextmanager
async def a_world(folder: Path, *, heartbeat_seconds: float = 5.0, **pool: Any) -> AsyncIterator[World]:
    store = Store.open(folder / "store", Threads())
    store.write(lambda tx: resources.create(tx, POOL, a_pool(**pool)))
    world = World(folder, store, heartbeat_seconds)
    await world.open()
    try:
        yield world
    finally:
        await world.close()
        store.close()
