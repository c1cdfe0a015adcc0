"""The agent's process: one at a time on its folder, from its settings to SIGTERM.

Jobs live on when it ends.
"""

from __future__ import annotations

import fcntl
import functools
import logging
import os
import signal
import sys
from dataclasses import replace as replace_settings
from pathlib import Path

import anyio
import structlog

from agent import credential, devices, inventory
from agent.admission import Room
from agent.commands import Commands
from agent.connection import Connection
from agent.errors import AgentError, JoinRefused, SettingsRefused
from agent.files import PRIVATE_FILE, PRIVATE_FOLDER, replace
from agent.gpus import Gpus
from agent.inventory import DEVICE_LIMITS
from agent.journal import Journal
from agent.outbox import Outbox
from agent.processes import boot_id
from agent.session import Parts
from agent.settings import AgentSettings
from agent.supervisor import Supervisor
from agent.tails import Tails
from agent.trust import Trust
from api.proto import agent_pb2 as wire
from api.proto.translate import instance_to_wire
from resources.facts import Instance
from resources.names import label_problem
from resources.quantities import plain
from resources.version import VERSION

EXIT_ENVIRONMENT = 5
DEVICES_SECONDS = 2.0
"""How often the devices file is looked at."""
NOT_JOINED = "node {node} has not joined yet and there is no join token: RM_JOIN_TOKEN=$(rmctl node token {node})"

log = structlog.get_logger()


def main(settings: AgentSettings) -> int:
    """Runs until SIGTERM or SIGINT; returns the exit code. What went wrong is one line on stderr."""
    _log_to_stderr()
    try:
        anyio.run(functools.partial(run, settings), backend="asyncio")
    except (BaseExceptionGroup, AgentError, OSError) as error:
        cause = _cause(error)
        if not isinstance(cause, AgentError | OSError):
            raise
        print(f"rmctl: error: {cause}", file=sys.stderr)
        return cause.exit_code if isinstance(cause, AgentError) else EXIT_ENVIRONMENT
    return 0


async def run(settings: AgentSettings) -> None:
    """Raises AgentError or OSError, perhaps in a group."""
    agent = Agent(settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_until_signalled, tasks.cancel_scope)
        await agent.serve()


async def _until_signalled(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("the agent ends, its jobs live on", signal=number.name)
            scope.cancel()
            return


class Agent:
    """The parts of one agent, put together. Raises SettingsRefused for settings that cannot be used."""

    def __init__(self, settings: AgentSettings) -> None:
        problem = label_problem(settings.node)
        if problem is not None:
            raise SettingsRefused(f"--node: {problem}")
        self._settings = settings = replace_settings(settings, data=settings.data.absolute())
        self._inventory = inventory.take(settings)
        self._token = credential.parse_token(settings.token) if settings.token else None
        settings.data.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._lock = _only_one(settings.data)
        self._credential_file = settings.data / "credential"
        if self._token is None and not self._credential_file.exists():
            raise SettingsRefused(NOT_JOINED.format(node=settings.node), JoinRefused.exit_code)
        self._credential = credential.keep(self._credential_file)
        self._journal = Journal(settings.data / "journal")
        self._outbox = Outbox(self._journal)
        room = Room(self._inventory.capacity_milli, self._inventory.cores, self._inventory.memory_mib)
        self._supervisor = Supervisor(settings.data, settings.node, settings.address, room, self._report)
        self._tails = Tails(self._supervisor, self._outbox)
        commands = Commands(self._journal, self._supervisor, self._tails)
        parts = Parts(self._journal, self._outbox, self._supervisor, self._tails, commands)
        trust = Trust(settings.data / "ca.pem", self._token.ca_sha256 if self._token is not None else "")
        self._connection = Connection(settings.server, parts, trust, self._hello, self._welcomed)
        self._said = False

    async def serve(self) -> None:
        """For good."""
        for line in self._journal.damaged:
            log.error("a line of the journal is damaged, kept in journal.damaged", bytes=len(line))
        async with anyio.create_task_group() as watching:
            self._supervisor.open(watching)
            await self._supervisor.adopt()
            if self._settings.devices is not None:
                watching.start_soon(self._watch_devices, self._settings.devices)
            elif self._settings.gpus:
                await watching.start(Gpus(self._count_gpus).watch)
            await self._connection.run()

    def _count_gpus(self, found: list[wire.Device]) -> None:
        """What the driver tells now, if that is news."""
        if found != list(self._inventory.devices):
            self._set_devices(found)

    def _set_devices(self, found: list[wire.Device]) -> None:
        del self._inventory.devices[:]
        self._inventory.devices.extend(found)
        if found and DEVICE_LIMITS not in self._inventory.capabilities:
            self._inventory.capabilities.append(DEVICE_LIMITS)
        self._connection.renew()

    async def _watch_devices(self, path: Path) -> None:
        """A file that changed is reported; one that cannot be used changes nothing."""
        seen = devices.stamp(path)
        while True:
            await anyio.sleep(DEVICES_SECONDS)
            now = devices.stamp(path)
            if now == seen:
                continue
            seen = now
            try:
                found = devices.read(path)
            except SettingsRefused as refused:
                log.error("the devices stay as they were", reason=str(refused))
                continue
            if found != list(self._inventory.devices):
                self._set_devices(found)

    async def _report(self, facts: Instance) -> None:
        life = self._supervisor.find(facts.id)
        if life is not None and not facts.alive:
            await self._tails.ship(life)
        await self._outbox.report(facts)

    def _hello(self) -> wire.Hello:
        return wire.Hello(
            node=self._settings.node,
            credential=self._credential,
            join_token=self._token.secret if self._token is not None else "",
            pool=self._settings.pool,
            boot_id=boot_id(),
            agent_version=VERSION,
            inventory=self._inventory,
            instances=[instance_to_wire(facts) for facts in self._supervisor.listed()],
            report_seq=self._journal.last_report,
            kept=[
                wire.JobFolder(project=project, job=job, job_uid=uid) for project, job, uid in self._supervisor.kept()
            ],
        )

    def _welcomed(self, welcome: wire.Welcome) -> None:
        if welcome.credential:
            self._credential = welcome.credential
            replace(self._credential_file, self._credential.encode() + b"\n")
        if self._said:
            log.info("connected again")
            return
        self._said = True
        words = [
            self._settings.node,
            f"{plain(self._inventory.capacity_milli)} vcpu",
            self._settings.zone,
            self._settings.address,
            *self._settings.capabilities,
        ]
        print("rmctl agent ready   " + "  ".join(word for word in words if word), flush=True)


def _only_one(data: Path) -> int:
    """The folder's lock, held until the process ends. Raises SettingsRefused while another agent has it."""
    handle = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 32).decode(errors="replace").strip()
        os.close(handle)
        raise SettingsRefused(f"another agent (pid {holder}) owns {data}", EXIT_ENVIRONMENT) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


def _cause(error: BaseException) -> BaseException:
    """The first of a group, however deep."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _log_to_stderr() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
