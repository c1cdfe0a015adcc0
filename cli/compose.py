"""A server put together from its parts, and taken down in their order."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, cast

import structlog
import uvicorn

from api import agents
from api.http.app import build
from api.http.protocol import PeerProtocol
from api.http.services import Caller, ServerInfo, Services
from api.listening import Listener, listener
from cli.definition_folders import folders
from cli.kill_points import KillPoint
from cli.settings import ServerSettings
from cli.sockets import names_of_this_machine, tcp_socket, unix_socket
from controllers.definitions.host import Host
from controllers.definitions.processes import Limits
from controllers.foresight import foresee
from controllers.plugins.host import Host as Plugins
from controllers.preview import explain, preview
from controllers.providers.agents import AgentDriver, Connections
from controllers.registry import CONTROLLERS
from controllers.replaying import replay
from controllers.runtime.environment import Threads, settle_in
from controllers.runtime.manager import Manager
from controllers.runtime.upkeep import Retention
from controllers.scheduling import PLAIN, Scheduling
from placement import FleetView
from resources.reference import Ref
from resources.version import VERSION
from store import holds, resources
from store.engine import library_warning
from store.secret_files import SecretFiles
from store.store import Store
from store.tx import Tx

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from api.authority import Authority

log = structlog.get_logger("rmctl.server")
RENEWAL_SECONDS = 12 * 3600.0
FIRST_POOL = {"tiers": [{"name": "local", "kind": "local-servers", "scaleOut": "fixed"}]}


class Uvicorn(uvicorn.Server):
    """Signals belong to the composed server, not to one of its parts."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """One process: store, manager, HTTP, the agents' door. `serve` runs until it is told to stop."""

    def __init__(
        self, settings: ServerSettings, scheduling: Scheduling = PLAIN, plugins: Plugins | None = None
    ) -> None:
        settle_in()
        self._plugins = plugins
        self._settings = settings
        self._environment = Threads()
        self._stopping = asyncio.Event()
        self._ready = False
        self._loop = asyncio.get_running_loop()
        folder = settings.folder.absolute()
        self.http_socket = folder / "rmctl.sock"
        self.agents_socket = folder / "agents.sock"
        self._http = [listener(address) for address in settings.http]
        self._doors = [listener(address) for address in settings.agents]
        point = KillPoint(settings.kill_at)
        self._store = Store.open(folder, self._environment, migrated=point.migrated)
        if settings.kill_at:
            self._store.subscribe(point.told)
        self._authority = _authority(folder / "tls", [*self._http, *self._doors])
        self._connections = Connections()
        self._secrets = SecretFiles(folder / "secrets", self._environment.token)
        cadence = settings.cadence
        driver = AgentDriver(self._connections, secrets=self._secrets.value, seconds=cadence.answer_seconds)
        self._manager = Manager(
            self._store,
            self._environment,
            {controller.kind: controller for controller in CONTROLLERS},
            [point.around(driver) if settings.kill_at else driver],
            workers=settings.pass_workers,
            effect_workers=settings.effect_workers,
            dry=settings.effects == "record",
            retention=Retention(cadence.keep_changes, cadence.keep_days, cadence.upkeep_seconds),
            scheduling=scheduling,
        )
        asked = settings.definitions
        self._definitions = Host(
            self._store,
            self._environment,
            folders(asked.projects),
            Limits(
                memory_bytes=asked.memory_mi_b * 1024 * 1024,
                load_seconds=asked.load_seconds,
                pass_on=asked.pass_environment,
            ),
            workers=asked.workers,
            engine=settings.workflows.engine,
            runs=settings.workflows.workers,
        )
        self._agents = agents.build(
            self._store, self._connections, heartbeat_seconds=settings.cadence.heartbeat_seconds
        )

    async def serve(self) -> None:
        """From the first claim to the last checkpoint."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._stopping.set)
        http = [tcp_socket(one) for one in self._http]
        await asyncio.to_thread(self._store.write, _first_pool)
        await asyncio.to_thread(self._definitions.start)
        await asyncio.to_thread(self._manager.start)
        token = _listener_token(self._settings.folder) if http else ""
        credentials = self._authority.grpc_credentials() if self._authority else None
        await self._agents.start([f"unix:{self.agents_socket}", *self._settings.agents], credentials)
        app = build(self._services(token, http))
        serving = self._served(app, http)
        renewing = asyncio.create_task(self._renew()) if self._authority else None
        self._ready = True
        await asyncio.to_thread(self._warn_of_hold)
        print(f"rmctl server ready  unix:{self.http_socket}  pid {os.getpid()}", flush=True)
        try:
            await self._stopping.wait()
        finally:
            if renewing:
                renewing.cancel()
            await self._stop(app, serving)

    def _served(self, app: Starlette, http: list[socket]) -> list[tuple[Uvicorn, asyncio.Task[None]]]:
        """One uvicorn for what is plain, and one for TLS."""
        plain = [unix_socket(self.http_socket), *(s for s, one in zip(http, self._http, strict=True) if not one.tls)]
        secure = [s for s, one in zip(http, self._http, strict=True) if one.tls]
        found = []
        for sockets, context in ((plain, None), (secure, self._authority.context() if self._authority else None)):
            if sockets:
                server = Uvicorn(_config(app, context))
                found.append((server, asyncio.create_task(server.serve(sockets=sockets))))
        return found

    async def _renew(self) -> None:
        """A server that runs for a year has another certificate by then."""
        assert self._authority is not None
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            if await asyncio.to_thread(self._authority.renew):
                log.info("the server certificate was renewed")

    async def _stop(self, app: Starlette, serving: list[tuple[Uvicorn, asyncio.Task[None]]]) -> None:
        """No new work, then what is under way, then the doors, the writer last."""
        log.info("stopping")
        self._ready = False
        await self.end_work()
        app.state.hub.close()
        await self._agents.stop(grace=2.0)
        for server, _ in serving:
            server.should_exit = True
        await asyncio.gather(*(task for _, task in serving))
        app.state.threads.close()
        await asyncio.to_thread(self._store.close)
        for path in (self.http_socket, self.agents_socket):
            path.unlink(missing_ok=True)

    async def end_work(self) -> None:
        """Returns when no pass and no effect is under way. The doors are open meanwhile, and say not ready."""
        if self._plugins is not None:
            await asyncio.to_thread(self._plugins.close)
        await asyncio.to_thread(self._definitions.stop)
        await asyncio.to_thread(self._manager.stop)

    def _warn_of_hold(self) -> None:
        with self._store.read() as tx:
            hold = holds.find(tx)
        if hold is not None:
            why = f" ({hold.reason})" if hold.reason else ""
            print(f"rmctl: warning: no effect is begun{why}: rmctl resume server", file=sys.stderr, flush=True)

    def _ask_to_stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)

    def _services(self, token: str, http: list[socket]) -> Services:
        settings = self._settings
        ports = [made.getsockname()[1] for made in http]
        listeners = [one._replace(port=port) for one, port in zip(self._http, ports, strict=True)]
        agents = [one._replace(port=port) for one, port in zip(self._doors, self._agents.ports[1:], strict=True)]
        return Services(
            store=self._store,
            now=self._environment.now,
            server=ServerInfo(
                version=VERSION,
                pid=os.getpid(),
                data=str(settings.folder.absolute()),
                started_at=self._manager.started_at,
                listeners=(
                    f"unix:{self.http_socket}",
                    *(f"{'https' if one.tls else 'http'}://{one.address}" for one in listeners),
                ),
                agents=(
                    f"unix:{self.agents_socket}",
                    *(f"tls://{one.address}" if one.tls else one.address for one in agents),
                ),
            ),
            stop=self._ask_to_stop,
            ready=lambda: self._ready,
            token=self._environment.token,
            hosts=names_of_this_machine(self._http),
            authority=self._authority,
            tokens={token: Caller("listener")} if token else {},
            explain=lambda tx, job: explain(
                tx, job, self._manager.fleet, self._store.heard_since(self._manager.started_at)
            ),
            scratch=self._manager.fleet.scratch,
            plan=lambda tx, bundle, traced, scratch: preview(
                tx, bundle, self._manager.fleet, cast("FleetView", scratch), traced=traced
            ),
            criteria=self._manager.fleet.scheduling.criteria,
            foresee=lambda tx, reservation, scratch: foresee(
                tx, reservation, self._manager.fleet, cast("FleetView", scratch)
            ),
            replay=lambda tx, event: replay(tx, event, self._manager.fleet),
            secrets=self._secrets,
            lend=self._definitions.lend,
            shape=self._definitions.shapes.of,
            shapes=self._definitions.shapes.every,
            execute=lambda node, order, seconds: self._connections.send(node, order, seconds=seconds),
            resumed=self._agents.ask_anew,
            strays=self._agents.strays,
        )


def _first_pool(tx: Tx) -> None:
    """An empty store starts with the pool `default`."""
    if not resources.list_all(tx, "pool"):
        resources.create(tx, Ref("pool", "default"), FIRST_POOL)


def _authority(folder: Path, listeners: list[Listener]) -> Authority | None:
    """The CA where one is needed; its library is loaded then, and not before."""
    if not any(one.tls for one in listeners):
        return None
    from api.authority import Authority

    return Authority(folder, names_of_this_machine(listeners))


def _config(app: Starlette, context: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http=PeerProtocol,
        timeout_graceful_shutdown=2,
        ssl_context_factory=None if context is None else lambda _config, _default: context,
    )


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
