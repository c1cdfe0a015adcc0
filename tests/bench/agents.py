"""B11: many agents at one server: memory of each, processor time, heartbeats against an echo, and their return.

`RM_BENCH_AGENTS` says how many, 1,000 unless given.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import psutil
from grpc import aio

from agent.connection import OPTIONS
from api.proto import agent_pb2 as wire
from tests.bench.figures import Figure
from tests.fake_agents import Fakes, prepare_folder

AGENTS = int(os.environ.get("RM_BENCH_AGENTS", "1000"))
SETTLE_SECONDS = 8.0
IDLE_SECONDS = 10.0
HURRY_SECONDS = 4.0
ROUNDS = 3
AWAY_SECONDS = float(os.environ.get("RM_BENCH_AWAY", "20"))
MOST_IN_A_SECOND = 0.15
ECHO = """
import asyncio, grpc, sys
from grpc import aio
async def echo(requests, context):
    async for data in requests:
        await context.write(data)
async def serve():
    server = aio.server()
    handler = grpc.stream_stream_rpc_method_handler(echo)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Echo", {"Session": handler}),))
    server.add_insecure_port(sys.argv[1])
    await server.start()
    print("echo ready", flush=True)
    await server.wait_for_termination()
asyncio.run(serve())
"""


class Running:
    """A process that has said that it is ready."""

    def __init__(self, *words: str) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        assert "ready" in line, line
        self.process = psutil.Process(self._popen.pid)

    @property
    def memory(self) -> int:
        return int(self.process.memory_info().rss)

    @property
    def busy_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def end(self) -> None:
        self._popen.terminate()
        self._popen.wait()


def a_server(folder: Path) -> Running:
    return Running("-m", "rmctl", "server", "--data", str(folder))


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="rmbench-") as name:
        folder = Path(name)
        names = [f"node-{number:05d}" for number in range(AGENTS)]
        prepare_folder(folder, names)
        return asyncio.run(_figures(folder, names))


async def _figures(folder: Path, names: list[str]) -> list[Figure]:
    fakes = Fakes(f"unix:{folder}/agents.sock", names)
    server = await asyncio.to_thread(a_server, folder)
    await asyncio.sleep(SETTLE_SECONDS)
    empty = server.memory
    async with fakes.running():
        began = time.monotonic()
        await asyncio.wait_for(fakes.all_connected(), 300)
        first = time.monotonic() - began
        await asyncio.sleep(SETTLE_SECONDS)
        each = (server.memory - empty) / len(names)
        busy = server.busy_seconds
        await asyncio.sleep(IDLE_SECONDS)
        idle = (server.busy_seconds - busy) / IDLE_SECONDS
        ratio, stored, bare = await _against_an_echo(folder, fakes)
        await asyncio.to_thread(server.end)
        await asyncio.sleep(AWAY_SECONDS)
        fakes.arrivals.clear()
        server = await asyncio.to_thread(a_server, folder)
        gets, asked = _asking(folder)
        began = time.monotonic()
        await asyncio.wait_for(fakes.all_connected(), 300)
        back = time.monotonic() - began
        asked.set()
        lost = await asyncio.to_thread(_lost, folder)
    await asyncio.to_thread(server.end)
    share = _fullest_second(fakes.arrivals)
    return [
        Figure("B11 memory", f"{each / 1000:.0f} KB each of {len(names)} agents", "≤ 60 KB", each <= 60_000),
        Figure("B11 idle", f"{idle:.1%} of a core, {len(names) / 5:.0f} heartbeats/s", "≤ 3 %", idle <= 0.03),
        Figure(
            "B11 heartbeats", f"{ratio:.2f} × ({stored:.0f} stored, {bare:.0f} echoed/s)", "≥ 0.5 × echo", ratio >= 0.5
        ),
        Figure("B11 first", f"all there in {first:.1f} s", "", None),
        Figure("B11 back", f"all back in {back:.1f} s after {AWAY_SECONDS:.0f} s", "≤ 10 s", back <= 10),
        Figure("S17 spread", f"{share:.0%} in the fullest second", "≤ 15 %", share <= MOST_IN_A_SECOND),
        Figure("S17 get", f"slowest {max(gets):.2f} s of {len(gets)}", "< 1 s", max(gets) < 1),
        Figure("S17 lost", f"{lost} nodes", "0", lost == 0),
    ]


async def _against_an_echo(folder: Path, fakes: Fakes) -> tuple[float, float, float]:
    """(ratio, heartbeats stored a second, messages echoed a second), the two sides taking turns."""
    echo = await asyncio.to_thread(Running, "-c", ECHO, f"unix:{folder}/echo.sock")
    rates = []
    for _ in range(ROUNDS):
        async with fakes.in_a_hurry():
            before = fakes.acknowledged
            await asyncio.sleep(HURRY_SECONDS)
            stored = (fakes.acknowledged - before) / HURRY_SECONDS
        rates.append((stored, await _echoed(f"unix:{folder}/echo.sock", len(fakes.names))))
    echo.end()
    return sorted((stored / bare, stored, bare) for stored, bare in rates)[ROUNDS // 2]


async def _echoed(address: str, streams: int) -> float:
    """As many streams, each on a channel of its own, each sending as soon as it is answered."""
    heartbeat = wire.Up(heartbeat=wire.Heartbeat(seq=1)).SerializeToString()
    count = 0

    async def talk() -> None:
        nonlocal count
        async with aio.insecure_channel(address, options=OPTIONS) as channel:
            stream = channel.stream_stream("/Echo/Session")()
            while True:
                await stream.write(heartbeat)
                await stream.read()
                count += 1

    tasks = [asyncio.create_task(talk()) for _ in range(streams)]
    await asyncio.sleep(HURRY_SECONDS / 2)
    before = count
    await asyncio.sleep(HURRY_SECONDS)
    rate = (count - before) / HURRY_SECONDS
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return rate


def _asking(folder: Path) -> tuple[list[float], threading.Event]:
    """How long each `get` takes, one after the other, until the event is set."""
    taken: list[float] = []
    enough = threading.Event()

    def ask() -> None:
        with _client(folder) as client:
            while not enough.is_set():
                began = time.monotonic()
                client.get("/apis/rmctl/v1/pools").raise_for_status()
                taken.append(time.monotonic() - began)

    threading.Thread(target=ask, daemon=True).start()
    return taken, enough


def _lost(folder: Path) -> int:
    with _client(folder) as client:
        found = json.loads(client.get("/apis/rmctl/v1/nodes").text)["items"]
    ready = ({c["type"]: c for c in node["status"].get("conditions", ())}.get("Ready", {}) for node in found)
    return sum(one.get("reason") == "Lost" for one in ready)


def _client(folder: Path) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=f"{folder}/rmctl.sock"), base_url="http://rmctl", timeout=60)


def _fullest_second(arrivals: list[float]) -> float:
    """The largest share of them within one second."""
    ordered = sorted(arrivals)
    most, end = 0, 0
    for begin, at in enumerate(ordered):
        while end < len(ordered) and ordered[end] < at + 1.0:
            end += 1
        most = max(most, end - begin)
    return most / len(ordered)
