"""Keeping a connection to the server: dial, talk until it breaks, wait a little, dial again."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import grpc
import structlog
from anyio import CancelScope, create_task_group, move_on_after, sleep, to_thread
from anyio.abc import TaskGroup
from grpc import aio

from agent.errors import JoinRefused, SettingsRefused, StreamLost
from agent.session import Parts, Session
from agent.trust import SERVER_NAME, Trust
from api.proto import agent_pb2 as wire
from api.proto.agent_pb2_grpc import AgentsStub

FIRST_PAUSE_SECONDS = 0.5
ROUND_SECONDS = 9.0
"""While the server is away every agent dials once in such a round, each at its own place in it."""
SETTLING_SECONDS = 5.0
"""How long a Hello waits for commands that are under way; what is not settled then is listed as starting."""
MESSAGE_BYTES = 4 * 1024 * 1024
SOCKET_PATH_BYTES = 107
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)
REFUSED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})

log = structlog.get_logger()

Hello = Callable[[], wire.Hello]
Joined = Callable[[wire.Welcome], None]


class Target(NamedTuple):
    """`name` is what gRPC dials; host and port are of a server that is spoken to over TLS."""

    name: str
    host: str = ""
    port: int = 0


def target(address: str) -> Target:
    """Of `unix:/path`, `HOST:PORT` or `tls://HOST:PORT`: TLS off this machine. Raises SettingsRefused."""
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").removeprefix("//")
        if len(path.encode()) > SOCKET_PATH_BYTES:
            raise SettingsRefused(f"--server: socket path is {len(path.encode())} bytes, limit {SOCKET_PATH_BYTES}")
        return Target(f"unix:{path}")
    rest = address.removeprefix("tls://")
    host, _, port = rest.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise SettingsRefused(f'--server: "{address}" is neither unix:/path nor HOST:PORT')
    bare = host.strip("[]")
    if rest == address and _loopback(bare):
        return Target(rest)
    return Target(rest, bare, int(port))


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Connection:
    """`welcome` runs after each Welcome. Refusals before the first one end the agent; later ones are waited out."""

    def __init__(self, address: str, parts: Parts, trust: Trust, hello: Hello, welcome: Joined) -> None:
        self._target = target(address)
        self._trust = trust
        self._parts = parts
        self._hello = hello
        self._welcome = welcome
        self._ever = False
        self._talk: CancelScope | None = None
        self._pauses = pauses(random.uniform)

    async def run(self) -> None:
        """For good; raises JoinRefused when the server does not take this node."""
        async with create_task_group() as work:
            while True:
                log.warning("not connected", reason=await self._once(work))
                await sleep(next(self._pauses))

    def renew(self) -> None:
        """Say Hello again soon, since what it says has changed."""
        if self._talk is not None:
            self._talk.cancel()

    async def _once(self, work: TaskGroup) -> str:
        """One connection, from dial to end; returns why it ended."""
        with move_on_after(SETTLING_SECONDS):
            await self._parts.commands.idle()
        lost: list[BaseException] = []
        try:
            dialled = await self._channel()
        except OSError as away:
            return f"{self._target.name}: {away}"
        async with dialled as channel:
            with CancelScope() as self._talk:
                try:
                    await Session(self._parts, work, self._hello(), self._joined).run(AgentsStub(channel))
                except* (StreamLost, grpc.RpcError) as group:
                    lost.extend(_leaves(group))
            if self._talk.cancelled_caught:
                return "what this node has was reported anew"
        for error in lost:
            if isinstance(error, aio.AioRpcError) and error.code() in REFUSED and not self._ever:
                raise JoinRefused(f"{error.code().name}: {error.details()}")
        return "; ".join(_words(error) for error in lost)

    async def _channel(self) -> aio.Channel:
        """Raises OSError while the server is away, JoinRefused when it is another one."""
        name, host, port = self._target
        if not host:
            return aio.insecure_channel(name, options=OPTIONS)
        credentials = await to_thread.run_sync(self._trust.credentials, host, port)
        return aio.secure_channel(name, credentials, options=(*OPTIONS, ("grpc.ssl_target_name_override", SERVER_NAME)))

    def _joined(self, welcome: wire.Welcome) -> None:
        self._ever = True
        self._pauses = pauses(random.uniform, a_round(welcome.fence_seconds))
        self._welcome(welcome)


def a_round(fence_seconds: float) -> float:
    """How long agents may take to return, one after the other: well before their pool counts them as lost."""
    within = fence_seconds / 2 if fence_seconds else ROUND_SECONDS
    return max(FIRST_PAUSE_SECONDS, min(ROUND_SECONDS, within))


def pauses(draw: Callable[[float, float], float], within: float = ROUND_SECONDS) -> Iterator[float]:
    """Seconds to wait before each dial, for good; `draw` gives a number between two.

    Short at first, for a server that is started again. Then the first wait of a round has any length, so that a
    thousand agents do not return in the same moment however long the server was away.
    """
    pause = FIRST_PAUSE_SECONDS
    while pause < within / 2:
        yield draw(0, pause)
        pause *= 2
    yield draw(0, within)
    while True:
        yield draw(0.95 * within, within)


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found


def _words(error: BaseException) -> str:
    return f"{error.code().name}: {error.details()}" if isinstance(error, aio.AioRpcError) else str(error)
