"""A server put together from its parts, and taken down in their order."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
import uvicorn

from api import agents
from api.http.app import build
from api.http.services import Caller, ServerInfo, Services
from cli.settings import ServerSettings
from controllers.preview import explain, preview
from controllers.providers.agents import AgentDriver, Connections
from controllers.registry import CONTROLLERS
from controllers.runtime.environment import Threads
from controllers.runtime.manager import Manager
from resources.reference import Ref
from resources.version import VERSION
from store import resources
from store.engine import library_warning
from store.secret_files import SecretFiles
from store.store import Store
from store.tx import Tx

log = structlog.get_logger("rmctl.server")
SOCKET_LIMIT = 107
SWITCH_SECONDS = 0.0005
"""Beside busy threads an event loop answers within milliseconds only when threads give way this often."""
FIRST_POOL = {"tiers": [{"name": "local", "kind": "local-servers", "scaleOut": "fixed"}]}


class Uvicorn(uvicorn.Server):
    """Signals belong to the composed server, not to one of its parts."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """One process: store, manager, HTTP, the agents' door. `serve` runs until it is told to stop."""

    def __init__(self, settings: ServerSettings) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        self._settings = settings
        self._environment = Threads()
        self._stopping = asyncio.Event()
        self._ready = False
        self._loop = asyncio.get_running_loop()
        folder = settings.folder.absolute()
        self.http_socket = folder / "rmctl.sock"
        self.agents_socket = folder / "agents.sock"
        self._store = Store.open(folder, self._environment)
        self._connections = Connections()
        self._secrets = SecretFiles(folder / "secrets", self._environment.token)
        self._manager = Manager(
            self._store,
            self._environment,
            {controller.kind: controller for controller in CONTROLLERS},
            [AgentDriver(self._connections, secrets=self._secrets.value)],
            workers=settings.pass_workers,
            effect_workers=settings.effect_workers,
        )
        self._agents = agents.build(
            self._store, self._connections, heartbeat_seconds=settings.cadence.heartbeat_seconds
        )

    async def serve(self) -> None:
        """From the first claim to the last checkpoint."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._stopping.set)
        await asyncio.to_thread(self._store.write, _first_pool)
        await asyncio.to_thread(self._manager.start)
        token = _listener_token(self._settings.folder) if self._settings.http else ""
        app = build(self._services(token))
        self._app = app
        sockets = [_unix_socket(self.http_socket), *map(_tcp_socket, self._settings.http)]
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=2)
        http = Uvicorn(config)
        serving = asyncio.create_task(http.serve(sockets=sockets))
        await self._agents.start([f"unix:{self.agents_socket}", *self._settings.agents])
        self._ready = True
        print(f"rmctl server ready  unix:{self.http_socket}  pid {os.getpid()}", flush=True)
        try:
            await self._stopping.wait()
        finally:
            await self._stop(http, serving)

    async def _stop(self, http: Uvicorn, serving: asyncio.Task[None]) -> None:
        """No new work, then what is under way, then the doors, the writer last."""
        log.info("stopping")
        self._ready = False
        await asyncio.to_thread(self._manager.stop)
        await self._agents.stop(grace=2.0)
        self._app.state.hub.close()
        http.should_exit = True
        await serving
        self._app.state.threads.close()
        await asyncio.to_thread(self._store.close)
        for path in (self.http_socket, self.agents_socket):
            path.unlink(missing_ok=True)

    def _ask_to_stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)

    def _services(self, token: str) -> Services:
        settings = self._settings
        return Services(
            store=self._store,
            now=self._environment.now,
            server=ServerInfo(
                version=VERSION,
                pid=os.getpid(),
                data=str(settings.folder.absolute()),
                started_at=self._manager.started_at,
                listeners=(f"unix:{self.http_socket}", *(f"http://{address}" for address in settings.http)),
                agents=(f"unix:{self.agents_socket}", *settings.agents),
            ),
            stop=self._ask_to_stop,
            ready=lambda: self._ready,
            token=self._environment.token,
            tokens={token: Caller("listener")} if token else {},
            explain=lambda tx, job: explain(tx, job, self._manager.fleet, self._manager.started_at),
            plan=lambda tx, bundle, traced: preview(tx, bundle, self._manager.fleet, traced=traced),
            secrets=self._secrets,
            execute=lambda node, order, seconds: self._connections.send(node, order, seconds=seconds),
            resumed=lambda: self._connections.close("effects begin again"),
            strays=self._agents.strays,
        )


def _first_pool(tx: Tx) -> None:
    """An empty store starts with the pool `default`."""
    if not resources.list_all(tx, "pool"):
        resources.create(tx, Ref("pool", "default"), FIRST_POOL)


def _unix_socket(path: Path) -> socket.socket:
    """Bound under a mask of its own: only its owner may connect. The lock is held, so a file there is stale."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    finally:
        os.umask(before)
    made.listen(512)
    return made


def _tcp_socket(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host.strip("[]"), int(port)))
    made.listen(512)
    return made


def _listener_token(folder: Path) -> str:
    """The bearer token of the listeners, made once and kept where only the owner reads it."""
    path = folder / "http-token"
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(Threads().token())
    return path.read_text().strip()


def warn_of_library() -> None:
    warning = library_warning()
    if warning:
        print(f"rmctl: warning: {warning}", file=sys.stderr)
