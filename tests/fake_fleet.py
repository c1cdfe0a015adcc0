"""Many nodes in one process, to try a server with: `python -m tests.fake_fleet --help`."""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import socket
import time
from contextlib import suppress

import grpc
from grpc import aio

from agent.connection import OPTIONS, pauses
from api.proto import agent_pb2 as wire
from api.proto.agent_pb2_grpc import AgentsStub
from cli import paths
from cli.address import data_folder
from cli.flags import Flags
from cli.session import Session

CHANCE = random.Random(7)


def options(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fake_fleet", description=__doc__)
    add = parser.add_argument
    add("--server", default=f"unix:{data_folder().absolute()}/agents.sock", help="where nodes dial")
    add("--count", type=int, default=10, help="how many nodes")
    add("--prefix", default="fake", help="their names: PREFIX-0 and so on")
    add("--pool", default="default")
    add("--capacity", type=float, default=4.0, help="vCPU of each")
    add("--heartbeat", type=float, default=0.0, help="seconds between heartbeats; as the server says unless given")
    add("--silent-after", type=float, help="send no heartbeat later than so many seconds after the Hello")
    add("--answer-after", type=float, default=0.0, help="answer every command so much later")
    add("--no-answers", action="store_true", help="never answer a command")
    add("--reject", metavar="CODE[:TEXT]", help="refuse every start, such as JOB_REJECTED_NO_CAPACITY:full")
    add("--real", action="store_true", help="run the command of a job as a child process")
    add("--bind", action="store_true", help="listen on the ports that a job declares, on --address")
    add("--address", default="127.0.0.1")
    add("--ready-after", type=float, default=0.0, help="report a job ready so much later")
    add("--exit-after", type=float, help="end every job after so many seconds, with --exit-code")
    add("--exit-code", type=int, default=1)
    add("--log", default="", help="what every job writes")
    return parser.parse_args(words)


class Node:
    """One stream at a time. What runs lives in memory: a dropped stream keeps it, the end of the process does not."""

    def __init__(self, name: str, token: str, how: argparse.Namespace) -> None:
        self.name = name
        self._how = how
        self._token = token
        self._credential = os.urandom(32).hex()
        self._boot = os.urandom(8).hex()
        self._jobs: dict[str, Job] = {}
        self._answers: dict[str, wire.Result] = {}
        self._out: asyncio.Queue[wire.Up] = asyncio.Queue()
        self._seq = 0
        self._under_way: set[asyncio.Task[None]] = set()

    async def live(self) -> None:
        waits = pauses(CHANCE.uniform)
        while True:
            with suppress(grpc.RpcError, asyncio.InvalidStateError):
                await self._once()
                waits = pauses(CHANCE.uniform)
            await asyncio.sleep(next(waits))

    async def _once(self) -> None:
        async with aio.insecure_channel(self._how.server.removeprefix("tcp://"), options=OPTIONS) as channel:
            stream = AgentsStub(channel).Session()
            self._out = asyncio.Queue()
            await stream.write(wire.Up(hello=self._hello()))
            first = await stream.read()
            if first is aio.EOF:
                return
            tasks = [
                asyncio.create_task(self._beats(self._how.heartbeat or first.welcome.heartbeat_seconds)),
                asyncio.create_task(self._writes(stream)),
            ]
            try:
                while (down := await stream.read()) is not aio.EOF:
                    if down.WhichOneof("message") == "command":
                        self._spawn(self._carry_out(down.command))
            finally:
                for task in tasks:
                    task.cancel()

    def _hello(self) -> wire.Hello:
        milli = int(self._how.capacity * 1000)
        inventory = wire.Inventory(
            capacity_milli=milli,
            cores=milli // 1000,
            memory_mib=65536,
            address=self._how.address,
            drivers=[wire.Driver(id="process")],
        )
        return wire.Hello(
            node=self.name, credential=self._credential, join_token=self._token, pool=self._how.pool,
            boot_id=self._boot, agent_version="fake", inventory=inventory, report_seq=self._seq,
            instances=[job.told() for job in self._jobs.values() if job.code is None],
        )  # fmt: skip

    async def _writes(self, stream) -> None:
        while True:
            await stream.write(await self._out.get())

    async def _beats(self, seconds: float) -> None:
        began, seq = time.monotonic(), 0
        while self._how.silent_after is None or time.monotonic() - began < self._how.silent_after:
            seq += 1
            self._out.put_nowait(wire.Up(heartbeat=wire.Heartbeat(seq=seq)))
            await asyncio.sleep(seconds)

    def _spawn(self, work) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _carry_out(self, command: wire.Command) -> None:
        """Once an effect; a command that comes again gets the answer that it had."""
        await asyncio.sleep(self._how.answer_after)
        if command.effect_id not in self._answers:
            self._answers[command.effect_id] = await self._done(command)
        if not self._how.no_answers:
            self._out.put_nowait(wire.Up(result=self._answers[command.effect_id]))

    async def _done(self, command: wire.Command) -> wire.Result:
        well = {"effect_id": command.effect_id, "outcome": wire.Result.APPLIED}
        match command.WhichOneof("action"):
            case "start" if self._how.reject:
                code, _, text = self._how.reject.partition(":")
                return wire.Result(
                    effect_id=command.effect_id, outcome=wire.Result.REJECTED, code=code, detail=text or code
                )
            case "start":
                job = Job(command.start, self._how)
                await job.begin()
                self._jobs[job.start.instance_id] = job
                self._spawn(self._follow(job))
                return wire.Result(**well, pid=job.pid)
            case "stop":
                job = self._jobs.get(command.stop.instance_id)
                if job is not None:
                    job.end(-signal.SIGTERM)
                return wire.Result(**well)
            case _:
                return wire.Result(**well)

    async def _follow(self, job: Job) -> None:
        """What a real agent reports of a job: that it runs, that it is ready, what it wrote, how it ended."""
        self._report(job)
        if self._how.log:
            tail = wire.LogTail(
                seq=1, job_uid=job.start.job_uid, job=job.start.job, instance_id=job.start.instance_id,
                attempt=job.start.attempt, bytes=f"{self._how.log}\n".encode(), at=time.time(),
            )  # fmt: skip
            self._out.put_nowait(wire.Up(log_tail=tail))
        if not await job.ended_within(self._how.ready_after):
            job.ready_at = time.time()
            self._report(job)
            await job.ended_within(self._how.exit_after)
            job.end(self._how.exit_code)
        self._report(job)

    def _report(self, job: Job) -> None:
        self._seq += 1
        self._out.put_nowait(wire.Up(report=wire.Report(seq=self._seq, instance=job.told())))


class Job:
    """One instance. `code` is None while it lives; below 0 a signal ended it."""

    def __init__(self, start: wire.Start, how: argparse.Namespace) -> None:
        self.start = start
        self._how = how
        self.pid = CHANCE.randrange(2**20, 2**22)
        self.began = time.time()
        self.ready_at = 0.0
        self.code: int | None = None
        self._over = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._sockets: list[socket.socket] = []
        self._waiting: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        for port in self.start.ports if self._how.bind else ():
            listening = socket.create_server((self._how.address, int(port.partition("/")[0])))
            self._sockets.append(listening)
        if self._how.real:
            none = asyncio.subprocess.DEVNULL
            self._process = await asyncio.create_subprocess_exec(
                *self.start.command, stdin=none, stdout=none, stderr=none, env={**os.environ, **self.start.env}
            )
            self.pid = self._process.pid
            self._waiting = asyncio.create_task(self._wait(self._process))

    async def _wait(self, process: asyncio.subprocess.Process) -> None:
        self.end(await process.wait())

    async def ended_within(self, seconds: float | None) -> bool:
        try:
            await asyncio.wait_for(self._over.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def end(self, code: int) -> None:
        if self.code is not None:
            return
        self.code = code
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        for listening in self._sockets:
            listening.close()
        self._over.set()

    def told(self) -> wire.Instance:
        ended = self.code is not None
        state = wire.EXITED if ended else wire.READY if self.ready_at else wire.RUNNING
        told = wire.Instance(
            job_uid=self.start.job_uid, job=self.start.job, instance_id=self.start.instance_id,
            instance_key=self.start.instance_key, attempt=self.start.attempt, state=state, pid=self.pid,
            ports=self.start.ports, started_at=self.began, ready_at=self.ready_at, at=time.time(),
        )  # fmt: skip
        if self.code is not None:
            told.ran_seconds = time.time() - self.began
            told.exit.CopyFrom(wire.Exit(code=self.code) if self.code >= 0 else wire.Exit(signal=-self.code))
        return told


async def run(how: argparse.Namespace) -> None:
    session = Session(Flags())
    nodes = []
    for number in range(how.count):
        name = f"{how.prefix}-{number}"
        body = {"node": name, "pool": how.pool}
        nodes.append(Node(name, session.client.send("POST", paths.TOKENS, body)["token"], how))
    print(f"{how.count} nodes ready", flush=True)
    await asyncio.gather(*(node.live() for node in nodes))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(run(options()))
