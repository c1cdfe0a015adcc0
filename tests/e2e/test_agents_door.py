"""The agents' door over its socket: strangers, garbage, and a node that connects twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import grpc
import pytest
from grpc import aio

from api.agents import AgentDoor, build
from api.binding import target
from api.listening import AddressRefused
from api.proto import agent_pb2 as wire
from api.proto.agent_pb2_grpc import AgentsStub
from controllers.providers.agent_commands import StopJob
from controllers.providers.agents import Connections
from resources.effect import Applied, Unknown
from store import credentials
from tests.agent_world import World, a_world

pytestmark = pytest.mark.anyio

TOKEN = "t" * 43
OWN = "c" * 43
SESSION = "/rmctl.agent.v1.Agents/Session"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        for node in ("node-a", "node-b"):
            made.store.write(lambda tx, node=node: credentials.issue_join(tx, TOKEN + node, node, pool="local"))
        yield made


@asynccontextmanager
async def a_channel(world: World) -> AsyncIterator[aio.Channel]:
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
    async with aio.insecure_channel(world.socket, options=options) as channel:
        yield channel


def a_hello(node: str = "node-a", **fields: Any) -> wire.Up:
    known = {
        "credential": OWN + node,
        "join_token": TOKEN + node,
        "boot_id": "b",
        "inventory": wire.Inventory(capacity_milli=4000, cores=4),
    }
    return wire.Up(hello=wire.Hello(node=node, **(known | fields)))


async def status(channel: aio.Channel, *messages: bytes, metadata: Any = None) -> tuple[grpc.StatusCode, str]:
    """What a stream of these bytes ends with."""
    call = channel.stream_stream(SESSION)(iter(messages), metadata=metadata)
    try:
        while await call.read() is not aio.EOF:
            pass
    except aio.AioRpcError:
        pass
    return await call.code(), await call.details()


async def still_answers(channel: aio.Channel) -> bool:
    call = AgentsStub(channel).Session(iter([a_hello("node-b")]))
    return bool((await call.read()).welcome.heartbeat_seconds)


@pytest.mark.req("B94")
async def test_a_stranger_is_refused_with_one_text(world: World):
    async with a_channel(world) as channel:
        answers = {
            await status(channel, a_hello(**wrong).SerializeToString())
            for wrong in (
                {"join_token": "", "credential": ""},
                {"join_token": "x" * 43},
                {"join_token": "", "credential": "x" * 43},
            )
        }
    told = "the node's credential or join token is not valid; a token that is good once: rmctl node token node-a"
    assert answers == {(grpc.StatusCode.UNAUTHENTICATED, told)}


@pytest.mark.req("B95")
async def test_a_token_of_another_node_is_refused(world: World):
    async with a_channel(world) as channel:
        answer = await status(channel, a_hello("node-c", join_token=TOKEN + "node-a").SerializeToString())
    assert answer == (grpc.StatusCode.PERMISSION_DENIED, "this join token is not for node node-c")


@pytest.mark.req("B105")
@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "the first message must be a hello"),
        ([b""], "message: none of those that this server knows"),
        ([b"\xff" * 100], "not a message of rmctl.agent.v1"),
        ([b"\x0a\x04\x0a\x02\xff\xfe"], "not a message of rmctl.agent.v1"),
        ([wire.Up(heartbeat=wire.Heartbeat(seq=1)).SerializeToString()], "the first message must be a hello"),
        ([a_hello("Node A").SerializeToString()], "hello.node: must match [a-z0-9]([-a-z0-9]*[a-z0-9])?"),
        ([a_hello().SerializeToString(), a_hello().SerializeToString()], "hello: one is enough"),
        ([a_hello().SerializeToString(), b"\xff"], "not a message of rmctl.agent.v1"),
        (
            [a_hello().SerializeToString(), wire.Up(report=wire.Report(seq=1)).SerializeToString()],
            "report.instance.state: 0 is not a state",
        ),
        (
            [a_hello().SerializeToString(), wire.Up(result=wire.Result(outcome=9)).SerializeToString()],  # type: ignore[arg-type]
            "result.outcome: 9 is not an outcome",
        ),
    ],
)
async def test_garbage_ends_its_stream_and_nobody_elses(world: World, messages: list[bytes], words: str):
    async with a_channel(world) as channel:
        assert await status(channel, *messages) == (grpc.StatusCode.INVALID_ARGUMENT, words)
        assert await still_answers(channel)


@pytest.mark.req("B20", "B104")
async def test_metadata_and_messages_above_their_limits_are_refused(world: World):
    async with a_channel(world) as channel:
        code, _ = await status(channel, a_hello().SerializeToString(), metadata=(("x", "y" * 17000),))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        code, _ = await status(channel, b"\0" * (4 * 1024 * 1024 + 1))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await still_answers(channel)


async def test_a_node_that_connects_again_ends_its_older_stream(world: World):
    async with a_channel(world) as channel:
        first = AgentsStub(channel).Session()
        await first.write(a_hello())
        assert (await first.read()).HasField("welcome")
        second = AgentsStub(channel).Session()
        await second.write(a_hello())
        assert (await second.read()).HasField("welcome")
        with pytest.raises(aio.AioRpcError, match="the node has connected again"):
            await first.read()
        await second.write(wire.Up(heartbeat=wire.Heartbeat(seq=7)))
        assert (await second.read()).ack.heartbeat == 7
        assert world.connections.connected("node-a")


async def test_a_command_is_answered_or_unknown_when_the_stream_ends(world: World):
    async with a_channel(world) as channel:
        call = AgentsStub(channel).Session()
        await call.write(a_hello())
        await call.read()
        await world.until(lambda _tx: world.facts.arrivals["node-a"])
        answers = []

        async def ask(effect: str) -> None:
            answers.append(await world.send(StopJob(effect, "f", "i")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "e1")
            command = (await call.read()).command
            assert (command.effect_id, command.stop.instance_id) == ("e1", "i")
            result = wire.Result(effect_id="e1", outcome=wire.Result.APPLIED)
            await call.write(wire.Up(result=result))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "e2")
            await call.read()
            call.cancel()
    assert answers == [Applied("e1"), Unknown("the stream ended before the answer came")]


async def test_the_socket_is_its_owners_alone(world: World):
    found = await anyio.Path(world.socket.removeprefix("unix:")).stat()
    assert found.st_mode & 0o777 == 0o600


async def test_a_listener_on_loopback_is_served_too(world: World):
    door = build(world.store, Connections())
    await door.start(["127.0.0.1:0"])
    try:
        async with aio.insecure_channel(f"127.0.0.1:{door.ports[0]}") as channel:
            call = AgentsStub(channel).Session(iter([a_hello()]))
            assert (await call.read()).HasField("welcome")
    finally:
        await door.stop(0)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("unix:/" + "x" * 119, "socket path is 120 bytes, limit 107"),
        ("127.0.0.1:99999", "is not HOST:PORT with a port of 1 to 65535"),
        ("", "is not HOST:PORT with a port of 1 to 65535"),
    ],
)
async def test_what_is_no_address_is_refused(address: str, words: str):
    with pytest.raises(AddressRefused, match=words):
        target(address)


@pytest.mark.parametrize("address", ["0.0.0.0:7071", "example.org:7071", "tls://127.0.0.1:7071"])
async def test_nothing_leaves_the_machine_without_a_certificate(world: World, address: str):
    with pytest.raises(AddressRefused, match="served with TLS only"):
        await build(world.store, Connections()).start([address])


async def test_an_address_that_is_taken_is_said_so(world: World):
    first = build(world.store, Connections())
    await first.start(["127.0.0.1:0"])
    second: AgentDoor = build(world.store, Connections())
    try:
        with pytest.raises(AddressRefused, match="cannot be bound"):
            await second.start([f"127.0.0.1:{first.ports[0]}"])
    finally:
        await first.stop(0)


async def test_a_disk_that_is_full_is_said_and_acknowledges_nothing(world: World):
    """The node comes again later; meanwhile its stream is not left open."""
    async with a_channel(world) as channel:
        call = AgentsStub(channel).Session()
        await call.write(a_hello())
        assert (await call.read()).HasField("welcome")
        world.facts.full = True
        await call.write(wire.Up(heartbeat=wire.Heartbeat(seq=1)))
        with pytest.raises(aio.AioRpcError, match="disk full") as refusal:
            await call.read()
        assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE
        world.facts.full = False
        assert await still_answers(channel)
        await world.until(lambda _tx: not world.connections.connected("node-a"))
