"""The door that nodes come in by: one gRPC stream a node, answered only with what is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
import grpc
import structlog
from anyio import to_thread
from grpc import aio

from api.agent_beats import Beats
from api.agent_facts import AgentFacts, Welcomed
from api.agent_join import NotAllowed, NotKnown
from api.agent_wire import Hello, JobFolder, Malformed, answer_of, command_to_wire, hello_of, report_of, tail_of, up_of
from api.binding import bind, target
from api.listening import AddressRefused
from api.proto import agent_pb2 as wire
from controllers.providers.agent_commands import Command, ForgetJob
from controllers.providers.agents import Connections
from resources.facts import Instance
from store.errors import StoreError
from store.store import Store

T = TypeVar("T")
SERVICE = "rmctl.agent.v1.Agents"
MESSAGE_BYTES = 4 * 1024 * 1024
METADATA_BYTES = 16 * 1024
HELLO_SECONDS = 10.0
HEARTBEAT_SECONDS = 5.0
QUIET_HEARTBEATS = 6
"""A stream on which nothing came for so many heartbeats is given up."""
WRITES_AT_ONCE = 32
ASKED_ANEW = "the node is asked anew"
OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    ("grpc.max_metadata_size", METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", METADATA_BYTES),
    ("grpc.so_reuseport", 0),
)

log = structlog.get_logger("rmctl.agents")

Requests = AsyncIterator[bytes]
Context = aio.ServicerContext[bytes, bytes]


class Ended(Exception):
    """A stream ends with this status; the text is for the agent's log."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class _Stream:
    """What goes down one stream; other threads put commands in. `waiting_since`: nothing came up since, by the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context) -> None:
        self._loop = loop
        self._context = context
        self._queue: asyncio.Queue[wire.Down | Ended] = asyncio.Queue()
        self._writing = asyncio.Lock()
        self.waiting_since: float | None = None

    def deliver(self, command: Command) -> None:
        self._from_thread(wire.Down(command=command_to_wire(command)))

    def close(self, reason: str) -> None:
        self._from_thread(Ended(grpc.StatusCode.UNAVAILABLE, reason))

    def put(self, message: wire.Down | Ended) -> None:
        self._queue.put_nowait(message)

    async def write(self, message: wire.Down) -> None:
        """At once: what is sent with every heartbeat takes no way through another task."""
        async with self._writing:
            await self._context.write(message.SerializeToString())

    def _from_thread(self, item: wire.Down | Ended) -> None:
        with suppress(RuntimeError):  # the loop has ended, and the stream with it
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)

    async def next(self) -> wire.Down:
        """Raises Ended once the stream was closed."""
        item = await self._queue.get()
        if isinstance(item, Ended):
            raise item
        return item


class AgentDoor:
    """Serves agents in the running loop; what they say is written from threads, a message at a time."""

    def __init__(
        self,
        facts: AgentFacts,
        connections: Connections,
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._facts = facts
        self._connections = connections
        self._heartbeat_seconds = heartbeat_seconds
        self._now = now
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._server: aio.Server | None = None
        self._streams: set[_Stream] = set()
        self._asked = 0
        self.ports: tuple[int, ...] = ()

    def ask_anew(self) -> None:
        """Every node says again what it runs, and hears what of that is to end; those that are just saying it too."""
        self._asked += 1
        self._connections.close(ASKED_ANEW)

    def strays(self) -> tuple[Instance, ...]:
        """Instances that would be ended if effects were not held."""
        return self._facts.strays()

    async def start(self, addresses: Sequence[str], credentials: grpc.ServerCredentials | None = None) -> None:
        """`unix:/path`, `HOST:PORT`, `tls://HOST:PORT`; `ports` are those bound. Raises AddressRefused."""
        targets = [target(address) for address in addresses]
        if credentials is None and any(tls for _, tls in targets):
            raise AddressRefused("agents of other machines are served with TLS only, and there is no certificate")
        self._limiter = anyio.CapacityLimiter(WRITES_AT_ONCE)
        self._beats = Beats(lambda nodes: self._write(self._facts.heartbeats, nodes))
        self._tasks = [asyncio.create_task(self._beats.run()), asyncio.create_task(self._watch())]
        server = aio.server(options=OPTIONS)
        handler = grpc.stream_stream_rpc_method_handler(self.session)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Session": handler}),))
        self.ports = tuple(bind(server, address, credentials if tls else None) for address, tls in targets)
        await server.start()
        self._server = server

    async def stop(self, grace: float = 1.0) -> None:
        """Streams are told first; agents dial again once there is a server."""
        self._connections.close("the server stops")
        if self._server is not None:
            await self._server.stop(grace)
            for task in self._tasks:
                task.cancel()

    async def session(self, requests: Requests, context: Context) -> None:
        """One agent's stream, from Hello to its end."""
        try:
            await self._session(requests, context)
        except Ended as end:
            log.info("stream ended", code=end.code.name, reason=end.text)
            await context.abort(end.code, end.text)
        except StoreError as error:
            log.warning("nothing can be stored", error=str(error))
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    async def _session(self, requests: Requests, context: Context) -> None:
        hello = await self._hello(requests)
        stream = _Stream(asyncio.get_running_loop(), context)
        turn = self._turns.setdefault(hello.node, asyncio.Lock())
        async with turn:
            asked = self._asked
            welcome = await self._welcome(hello)
            self._connections.register(hello.node, stream)
        log.info("node connected", node=hello.node, instances=len(hello.instances))
        ends: list[BaseException] = []
        try:
            if asked != self._asked:
                raise Ended(grpc.StatusCode.UNAVAILABLE, ASKED_ANEW)
            await stream.write(wire.Down(welcome=welcome))
            await self._write(self._facts.hurry, hello.node)
            self._streams.add(stream)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_send, stream)
                    await self._receive(requests, hello.node, stream)
                    tasks.cancel_scope.cancel()
            except* (Ended, StoreError) as group:
                ends.extend(group.exceptions)
        finally:
            self._streams.discard(stream)
            with anyio.CancelScope(shield=True):
                async with turn:
                    if self._connections.unregister(hello.node, stream):
                        log.info("node disconnected", node=hello.node)
                        await self._write(self._facts.disconnected, hello.node)
        if ends:
            raise ends[0]

    async def _hello(self, requests: Requests) -> Hello:
        with anyio.move_on_after(HELLO_SECONDS):
            message = await _next(requests)
            if message is None or message.WhichOneof("message") != "hello":
                raise Ended(grpc.StatusCode.INVALID_ARGUMENT, "the first message must be a hello")
            try:
                return hello_of(message.hello, self._now())
            except Malformed as error:
                raise Ended(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
        raise Ended(grpc.StatusCode.DEADLINE_EXCEEDED, "no hello came")

    async def _welcome(self, hello: Hello) -> wire.Welcome:
        match await to_thread.run_sync(self._facts.hello, hello, limiter=self._limiter):
            case NotKnown(text=text):
                raise Ended(grpc.StatusCode.UNAUTHENTICATED, text)
            case NotAllowed(text=text):
                raise Ended(grpc.StatusCode.PERMISSION_DENIED, text)
            case Welcomed() as welcomed:
                folders = welcomed.gone
                return wire.Welcome(
                    credential=welcomed.credential,
                    heartbeat_seconds=min(self._heartbeat_seconds, welcomed.beat_seconds),
                    fence_seconds=welcomed.fence_seconds,
                    superseded=welcomed.superseded,
                    report_seq=hello.report_seq,
                    gone=[wire.JobFolder(project=one.project, job=one.job, job_uid=one.uid) for one in folders],
                )

    async def _receive(self, requests: Requests, node: str, stream: _Stream) -> None:
        """Until the agent ends the stream. Raises Ended for what breaks the rules."""
        loop = asyncio.get_running_loop()
        while True:
            stream.waiting_since = loop.time()
            message = await _next(requests)
            stream.waiting_since = None
            if message is None:
                return
            try:
                await self._take(message, node, stream)
            except Malformed as error:
                raise Ended(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error

    async def _watch(self) -> None:
        """Ends the streams on which nothing comes: one look at all of them, instead of a timer for every heartbeat."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._heartbeat_seconds)
            limit = loop.time() - QUIET_HEARTBEATS * self._heartbeat_seconds
            for stream in tuple(self._streams):
                if stream.waiting_since is not None and stream.waiting_since < limit:
                    stream.put(Ended(grpc.StatusCode.DEADLINE_EXCEEDED, "no heartbeat came"))

    async def _take(self, up: wire.Up, node: str, stream: _Stream) -> None:
        match up.WhichOneof("message"):
            case "heartbeat":
                await self._beats.stored(node)
                await stream.write(wire.Down(ack=wire.Ack(heartbeat=up.heartbeat.seq)))
            case "report":
                seq, instance = report_of(up.report, node, self._now())
                end = await self._write(self._facts.report, node, seq, instance)
                stream.put(wire.Down(ack=wire.Ack(seq=seq)))
                if end is not None:
                    stream.deliver(end)
            case "log_tail":
                await self._write(self._facts.log_tail, node, tail_of(up.log_tail, self._now()))
                stream.put(wire.Down(ack=wire.Ack(log_tail=up.log_tail.seq)))
            case "result":
                answer = answer_of(up.result, up.result.effect_id)
                if not self._connections.settle(node, up.result.effect_id, answer):
                    await self._write(self._facts.hurry, node)
            case "hello":
                raise Malformed("hello: one is enough")
            case _:
                log.info("notice", node=node, kind=up.notice.kind)

    async def _write(self, write: Callable[..., T], *values: object) -> T:
        return await to_thread.run_sync(write, *values, limiter=self._limiter)


async def _send(stream: _Stream) -> None:
    while True:
        await stream.write(await stream.next())


async def _next(requests: Requests) -> wire.Up | None:
    """None at the end of the stream."""
    async for data in requests:
        try:
            return up_of(data)
        except Malformed as error:
            raise Ended(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from error
    return None


def build(store: Store, connections: Connections, *, heartbeat_seconds: float = HEARTBEAT_SECONDS) -> AgentDoor:
    """The door over a store, as the server composes it."""
    facts = AgentFacts(store, lambda node, folder: connections.tell(node, forgetting(folder)))
    return AgentDoor(facts, connections, heartbeat_seconds=heartbeat_seconds)


def forgetting(folder: JobFolder) -> ForgetJob:
    """Named by the job alone, so that telling it twice is telling it once."""
    return ForgetJob(f"{folder.uid}:forget", folder.uid, folder.project, folder.job, folder.uid)
