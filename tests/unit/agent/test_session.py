"""A conversation with a server of a few lines: what is said in which order, and what the fence counts from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import grpc
import pytest
from grpc import aio

from agent.admission import Room
from agent.commands import Commands
from agent.errors import StreamLost
from agent.files import read_fence
from agent.journal import Journal
from agent.outbox import Outbox
from agent.processes import boottime
from agent.session import Parts, Session
from agent.supervisor import Supervisor
from agent.tails import Tails
from api.proto import agent_pb2 as wire
from api.proto.agent_pb2_grpc import AgentsStub, add_AgentsServicer_to_server
from resources.facts import Instance

pytestmark = pytest.mark.anyio

Serve = Callable[[AsyncIterator[wire.Up]], AsyncIterator[wire.Down]]
WELCOME = wire.Down(welcome=wire.Welcome(heartbeat_seconds=0.05, fence_seconds=100))


class Call:
    """What a gRPC call is to the session."""

    def __init__(self, serve: Serve) -> None:
        self._up, self._heard = anyio.create_memory_object_stream[wire.Up](0)
        self._down = serve(aiter(self._heard))
        self.cancelled = False

    async def write(self, message: wire.Up) -> None:
        await self._up.send(message)

    def __aiter__(self) -> AsyncIterator[wire.Down]:
        return self._down

    def cancel(self) -> None:
        self.cancelled = True
        self._up.close()
        self._heard.close()


class Stub:
    def __init__(self, serve: Serve) -> None:
        self._serve = serve

    def Session(self) -> Call:  # noqa: N802 (as the wire names it)
        return Call(self._serve)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    journal = Journal(tmp_path / "journal")
    outbox = Outbox(journal)
    supervisor = Supervisor(tmp_path, "node-a", "127.0.0.1", Room(4000, 4, 1024), outbox.report)
    tails = Tails(supervisor, outbox)
    return Parts(journal, outbox, supervisor, tails, Commands(journal, supervisor, tails))


async def talk(parts: Parts, serve: Serve) -> str:
    """Runs one session to its end, and says how it ended."""
    return await talk_over(parts, Stub(serve))


async def talk_over(parts: Parts, stub: Any) -> str:
    hello = wire.Hello(node="node-a", report_seq=parts.journal.last_report)
    ends: list[str] = []
    try:
        async with anyio.create_task_group() as work:
            parts.supervisor.open(work)
            await Session(parts, work, hello, lambda _welcome: None).run(stub)
    except* (StreamLost, grpc.RpcError) as lost:
        ends.append(str(_leaf(lost)))
    [end] = ends
    return end


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def serving(*steps: Callable[[wire.Up], Awaitable[wire.Down | None] | wire.Down | None]) -> Serve:
    """A server that answers the messages up with these steps, one each, and then ends the stream."""

    async def serve(up: AsyncIterator[wire.Up]) -> AsyncIterator[wire.Down]:
        for step in steps:
            answer: Any = step(await anext(up))
            if answer is not None:
                yield answer

    return serve


def kinds(ups: list[wire.Up]) -> list[str | None]:
    return [up.WhichOneof("message") for up in ups]


async def test_hello_comes_first_and_a_heartbeat_after_the_welcome(parts: Parts):
    heard: list[wire.Up] = []

    def hear(answer: wire.Down | None) -> Callable[[wire.Up], wire.Down | None]:
        def step(up: wire.Up) -> wire.Down | None:
            heard.append(up)
            return answer

        return step

    assert await talk(parts, serving(hear(WELCOME), hear(None), hear(None))) == "the stream ended"
    assert kinds(heard) == ["hello", "heartbeat", "heartbeat"]
    assert [up.heartbeat.seq for up in heard[1:]] == [1, 2]


async def test_the_fence_counts_from_the_sending_of_what_was_acknowledged(parts: Parts):
    """Neither from the acknowledgement nor from a later heartbeat that has none yet."""
    fences: list[tuple[float, float, float]] = []

    async def serve(up: AsyncIterator[wire.Up]) -> AsyncIterator[wire.Down]:
        before = boottime()
        await anext(up)
        heard = boottime()
        yield WELCOME
        fences.append((before, read_fence(parts.supervisor.fence) - 100, heard))
        before = boottime()
        await anext(up)
        heard = boottime()
        await anext(up)
        yield wire.Down(ack=wire.Ack(heartbeat=1))
        fences.append((before, read_fence(parts.supervisor.fence) - 100, heard))

    await talk(parts, serve)
    assert [before <= counted <= heard for before, counted, heard in fences] == [True, True]


async def test_a_server_that_acknowledges_nothing_is_left(parts: Parts):
    async def serve(up: AsyncIterator[wire.Up]) -> AsyncIterator[wire.Down]:
        await anext(up)
        yield WELCOME
        async for _ in up:
            pass

    assert await talk(parts, serve) == "the server acknowledges no heartbeat"


async def test_a_server_that_ends_the_stream_without_a_welcome_is_left(parts: Parts):
    assert await talk(parts, serving(lambda _up: None)) == "the stream ended"


def an_instance(number: int) -> Instance:
    return Instance("u", f"i{number}", "primary", "node-a", number, "running", job="b.primary.web", ports=("1/tcp",))


async def test_reports_go_up_until_they_are_acknowledged(parts: Parts):
    """What a Hello tells is acknowledged with its welcome; what came later goes up, again on the next connection."""
    await parts.outbox.report(an_instance(1))

    async def until_report(up: AsyncIterator[wire.Up], count: int) -> list[wire.Report]:
        found: list[wire.Report] = []
        while len(found) < count:
            message = await anext(up)
            if message.WhichOneof("message") == "report":
                found.append(message.report)
        return found

    reports: list[list[tuple[int, str]]] = []

    async def serve(up: AsyncIterator[wire.Up]) -> AsyncIterator[wire.Down]:
        hello = (await anext(up)).hello
        if hello.report_seq == 1:
            await parts.outbox.report(an_instance(2))
            await parts.outbox.report(an_instance(3))
        welcome = wire.Down()
        welcome.CopyFrom(WELCOME)
        welcome.welcome.report_seq = 1
        yield welcome
        found = await until_report(up, 2)
        reports.append([(report.seq, report.instance.instance_id) for report in found])

    await talk(parts, serve)
    await talk(parts, serve)
    assert reports == [[(2, "i2"), (3, "i3")]] * 2
    assert [seq for seq, _ in parts.journal.reports_after(0)] == [2, 3]


async def test_a_command_is_answered_and_its_answer_is_journalled(parts: Parts):
    command = wire.Command(effect_id="e", fingerprint="f", stop=wire.Stop(instance_id="i"))
    results: list[wire.Result] = []

    async def serve(up: AsyncIterator[wire.Up]) -> AsyncIterator[wire.Down]:
        await anext(up)
        yield WELCOME
        yield wire.Down(command=command)
        while not results:
            message = await anext(up)
            if message.WhichOneof("message") == "result":
                results.append(message.result)

    await talk(parts, serve)
    assert [(result.effect_id, result.outcome) for result in results] == [("e", wire.Result.APPLIED)]
    entry = parts.journal.find("e")
    assert entry is not None
    assert (entry.kind, entry.instance, entry.result is not None) == ("stop", "i", True)


class Twice:
    """Ends the first stream behind its welcome; on the second it asks, and keeps what comes up until it is answered."""

    def __init__(self) -> None:
        self.heard: list[list[wire.Up]] = []

    async def Session(  # noqa: N802 (as the wire names it)
        self, up: AsyncIterator[wire.Up], _context: object
    ) -> AsyncIterator[wire.Down]:
        heard = [await anext(up)]
        self.heard.append(heard)
        yield wire.Down(welcome=wire.Welcome(heartbeat_seconds=1000))
        heard.append(await anext(up))
        if len(self.heard) == 2:
            yield wire.Down(command=wire.Command(effect_id="e", fingerprint="f", stop=wire.Stop(instance_id="i")))
            heard.append(await anext(up))


async def test_a_stream_that_the_server_has_ended_takes_nothing_from_the_next(parts: Parts, tmp_path: Path):
    """With gRPC itself: it ends no task that sends for a call which has already ended."""
    serving = Twice()
    server = aio.server()
    add_AgentsServicer_to_server(serving, server)
    server.add_insecure_port(f"unix:{tmp_path}/s")
    await server.start()
    try:
        async with aio.insecure_channel(f"unix:{tmp_path}/s") as channel:
            for _ in range(2):
                await talk_over(parts, AgentsStub(channel))
    finally:
        await server.stop(None)
    assert [kinds(heard) for heard in serving.heard] == [["hello", "heartbeat"], ["hello", "heartbeat", "result"]]


@pytest.mark.parametrize("action", ["pull", "handover"])
async def test_a_command_that_comes_later_in_this_agents_life_is_refused_by_name(parts: Parts, action: str):
    command = wire.Command(effect_id="e", fingerprint="f")
    getattr(command, action).SetInParent()
    result = await parts.commands.carry_out(command)
    assert (result.outcome, result.code, result.detail) == (
        wire.Result.REJECTED,
        "UNSUPPORTED",
        f"this agent does not know the command {action}",
    )


def a_stop(effect: str = "e", fingerprint: str = "f") -> wire.Command:
    return wire.Command(effect_id=effect, fingerprint=fingerprint, stop=wire.Stop(instance_id="u-1-1"))


async def test_an_effect_that_comes_with_another_content_is_refused(parts: Parts):
    first = await parts.commands.carry_out(a_stop())
    other = await parts.commands.carry_out(a_stop(fingerprint="g"))
    again = await parts.commands.carry_out(a_stop())
    assert (first == again, first.outcome, other.code) == (True, wire.Result.APPLIED, "EFFECT_FINGERPRINT_DIFFERS")


async def test_a_start_behind_its_own_stop_is_refused(parts: Parts):
    await parts.commands.carry_out(a_stop("u:stop/1/1"))
    start = wire.Start(instance_id="u-1-1", job="b.primary.web", command=["true"])
    result = await parts.commands.carry_out(wire.Command(effect_id="u:start/1/1", fingerprint="f", start=start))
    assert (result.outcome, result.code) == (wire.Result.REJECTED, "JOB_REJECTED_CANCELLED")


async def test_a_start_whose_stream_has_ended_meanwhile_is_left_to_the_next(parts: Parts):
    """A slow disk: by now another hello has told the server that there is no such instance."""
    start = wire.Start(job_uid="u", instance_id="u-1-1", instance_key="primary", job="b.primary.web", command=["true"])
    command = wire.Command(effect_id="u:start/1/1", fingerprint="f", start=start)
    result = await parts.commands.carry_out(command, lambda: False)
    assert (result.outcome, parts.supervisor.lives()) == (wire.Result.DEFERRED, ())
    entry = parts.journal.find("u:start/1/1")
    assert entry is not None
    assert entry.result is None
