"""The demo's processes: a server that is started again when it dies, three agents, and the end of all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from cli.errors import CliError

SETTINGS = "server.toml"
STOP_SECONDS = 15.0


class NodePlan(NamedTuple):
    """One node of the demo; capacity in vCPU."""

    name: str
    zone: str
    address: str
    capacity: int = 4
    capabilities: tuple[str, ...] = ()
    devices: Path | None = None
    """A file that lists devices it says it has."""


EXAMPLES = Path(__file__).parent / "examples"
NODES = (
    NodePlan("node-a", "zone-a", "127.0.0.11", devices=EXAMPLES / "70-gpu-devices.json"),
    NodePlan("node-b", "zone-b", "127.0.0.12"),
    NodePlan("node-c", "zone-c", "127.0.0.13", capabilities=("nvenc",)),
)


class Processes:
    """Everything here was started here, and is ended by its own process id. `told` gets each line that says ready."""

    def __init__(self, folder: Path, listen: str, told: Callable[[str], None]) -> None:
        self.folder = folder
        self._listen = listen
        self._told = told
        self._server: subprocess.Popen[str] | None = None
        self._for_the_server: dict[str, str] = {}
        self._forge: subprocess.Popen[str] | None = None
        self._agents: list[subprocess.Popen[str]] = []
        self._logs: list[IO[bytes]] = []
        self._stopping = False
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def start_forge(self) -> None:
        """Before the server, whose definitions are told where it is."""
        self._forge, line = self._started(["dev", "forge", "--listen", "127.0.0.1:0"], "forge", {})
        self._for_the_server = {"GITHUB_API_URL": line.split()[3]}
        (self.folder / SETTINGS).write_text('[definitions]\nloadSeconds = 60\npassEnvironment = ["GITHUB_API_URL"]\n')

    def start_server(self) -> None:
        self._server = self._server_process()
        self._keeper.start()

    def start_agent(self, plan: NodePlan, token: str) -> None:
        words = ["agent", "--node", plan.name, "--pool", "local", "--server", f"unix:{self.folder}/agents.sock"]
        words += ["--data", str(self.folder / "agents" / plan.name), "--capacity", str(plan.capacity)]
        words += ["--zone", plan.zone, "--address", plan.address]
        for capability in plan.capabilities:
            words += ["--capability", capability]
        if plan.devices is not None:
            words += ["--devices", str(plan.devices)]
        else:
            words.append("--no-gpus")  # they are the machine's, and each of the demo's nodes would list them
        self._agents.append(self._start(words, plan.name, {"RM_JOIN_TOKEN": token}))

    def stop(self) -> None:
        """Agents, then their jobs, then the server."""
        from agent.leftovers import end_all

        self._stopping = True
        for agent in self._agents:
            _end(agent)
        for plan in NODES:
            end_all(self.folder / "agents" / plan.name)
        if self._server is not None:
            _end(self._server)
        if self._forge is not None:
            _end(self._forge)
        for log in self._logs:
            log.close()

    def _server_process(self) -> subprocess.Popen[str]:
        words = ["server", "--data", str(self.folder), "--http", self._listen]
        if self._forge is not None:
            words += ["--config", str(self.folder / SETTINGS)]
        return self._start(words, "server", self._for_the_server)

    def _keep(self) -> None:
        """A server that ends though nobody asked is started again; its jobs have not noticed."""
        while not self._stopping and self._server is not None:
            self._server.wait()
            if not self._stopping:
                self._told(f"the server ended ({_how(self._server.returncode)}); starting it again")
                self._server = self._server_process()

    def _start(self, words: list[str], name: str, more: Mapping[str, str]) -> subprocess.Popen[str]:
        return self._started(words, name, more)[0]

    def _started(self, words: list[str], name: str, more: Mapping[str, str]) -> tuple[subprocess.Popen[str], str]:
        """The process and its first line, once it has said that it is ready."""
        log = (self.folder / f"{name}.log").open("ab")
        self._logs.append(log)
        process = subprocess.Popen(
            [sys.executable, "-m", "rmctl", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **more},
            start_new_session=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline().rstrip("\n")
        if "ready" not in line:
            process.wait()
            raise CliError(f"{name} did not start: {_last_line(self.folder / f'{name}.log')}")
        self._told(line)
        threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
        return process, line


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _drain(lines: IO[str]) -> None:
    for _ in lines:
        pass


def _how(code: int) -> str:
    return f"exit {code}" if code >= 0 else signal.Signals(-code).name


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
