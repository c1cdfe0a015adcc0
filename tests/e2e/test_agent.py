"""Real agents and real jobs: started, watched, ended, adopted."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resources.effect import Applied, Rejected
from resources.reference import Ref
from resources.version import VERSION
from store import nodes, resources
from tests.agent_world import World, a_world, alive, attempt, gone, once_there

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def test_a_job_runs_becomes_ready_and_its_exit_code_is_told(world: World):
    """It ends when its folder gets the file that it waits for."""
    await world.agent()
    job = world.job(command=["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 7"])
    answer = await world.send(job)
    ready = await world.state(job, "ready")
    assert answer == Applied(job.effect, {"pid": ready.pid})
    (world.work(job) / "go").touch()
    ended = await world.state(job, "exited")
    assert (ended.code, ended.signal, ended.reason, ended.ran_seconds >= 1) == (7, None, "", True)


async def test_the_node_is_made_by_the_hello_that_spends_the_token(world: World):
    """With pool and capabilities; a second agent on the same name brings nothing and is refused."""
    await world.agent("node-a", capabilities=["nvenc"], zone="zone-a", address="127.0.0.11")
    with world.store.read() as tx:
        node = resources.get(tx, Ref("node", "node-a"))
        facts = nodes.facts(tx, "node-a")
    assert (node.spec.pool, node.spec.zone) == ("local", "zone-a")
    assert dict(node.labels) == {
        "rmctl/cap.nvenc": "1",
        "rmctl/driver.process": VERSION,
        "rmctl/driver-kind.process.command": "1",
    }
    assert facts is not None
    assert (facts.inventory.capacity_milli, facts.inventory.cores, facts.inventory.capabilities) == (
        4000,
        4,
        ("nvenc",),
    )
    assert (facts.inventory.address, facts.inventory.memory_mib > 0) == ("127.0.0.11", True)


async def test_an_agent_that_never_joined_says_that_it_needs_a_token(world: World):
    agent = await world.agent("node-a", token="", wait=False)
    assert await agent.ended() == 3
    assert "RM_JOIN_TOKEN=$(rmctl node token node-a)" in agent.said


async def test_the_ready_line_says_what_the_node_offers(world: World):
    agent = await world.agent("node-c", capabilities=["nvenc"], zone="zone-c", address="127.0.0.13")
    await world.until(lambda _tx: "ready" in agent.said)
    assert agent.said.splitlines()[0] == "rmctl agent ready   node-c  4 vcpu  zone-c  127.0.0.13  nvenc"


@pytest.mark.req("B94")
async def test_a_node_without_a_valid_token_is_refused_and_ends(world: World):
    agent = await world.agent("node-a", token="not-a-token-that-was-ever-issued", wait=False)
    assert await agent.ended() == 3
    assert agent.said.splitlines()[-1].startswith("rmctl: error: UNAUTHENTICATED: ")
    assert "not-a-token" not in agent.said


async def test_an_agent_that_was_killed_adopts_its_jobs(world: World):
    """Same pid, same instance, and the exit is still told."""
    agent = await world.agent()
    job = world.job(command=["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 4"])
    await world.send(job)
    before = await world.state(job, "ready")
    await agent.kill()
    again = await world.agent()
    await world.until(lambda _tx: "adopted" in again.said)
    adopted = await world.state(job, "ready")
    assert (adopted.pid, alive(adopted.pid)) == (before.pid, True)
    (world.work(job) / "go").touch()
    assert (await world.state(job, "exited")).code == 4


async def test_a_job_that_ends_while_its_agent_is_down_is_told_with_its_own_time(world: World):
    agent = await world.agent()
    job = world.job(command=["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; date +%s.%N > end; exit 5"])
    await world.send(job)
    running = await world.state(job, "running", "ready")
    await agent.kill()
    (world.work(job) / "go").touch()
    await gone(running.pid)
    await world.agent()
    ended = await world.state(job, "exited")
    assert ended.code == 5
    assert ended.at == pytest.approx(float((world.work(job) / "end").read_text()), abs=60)


async def test_an_agent_that_is_told_to_end_leaves_its_jobs_alone(world: World):
    agent = await world.agent()
    job = world.job(command=["sleep", "1000"])
    await world.send(job)
    running = await world.state(job, "running", "ready")
    agent.process.terminate()
    assert (await agent.ended(), alive(running.pid)) == (0, True)


async def test_a_stop_ends_the_job_and_all_that_it_left_behind(world: World):
    """A grandchild in a session of its own, with an empty environment."""
    await world.agent()
    script = "(setsid env -i sleep 1000 & echo $! > new; mv new stray); sleep 1000"
    job = world.job(command=["sh", "-c", script], readiness=once_there("stray"))
    await world.send(job)
    await world.state(job, "ready")
    stray = int((world.work(job) / "stray").read_text())
    assert alive(stray)
    assert await world.stop(job) == Applied(f"{job.job_uid}:stop/1/1")
    ended = await world.state(job, "exited")
    assert (ended.signal, ended.reason, alive(ended.pid), alive(stray)) == (15, "stopped as asked", False, False)


async def test_a_job_that_ignores_the_stop_is_killed_when_its_grace_is_over(world: World):
    await world.agent()
    script = "trap '' TERM; touch deaf; while :; do sleep 0.1; done"
    job = world.job(command=["sh", "-c", script], stopGraceSeconds=0.5, readiness=once_there("deaf"))
    await world.send(job)
    await world.state(job, "ready")
    await world.stop(job)
    assert (await world.state(job, "exited")).signal == 9


async def test_children_that_outlive_the_main_process_are_ended_with_it(world: World):
    await world.agent()
    job = world.job(command=["sh", "-c", "sleep 1000 & echo $! > child; exit 0"])
    await world.send(job)
    assert (await world.state(job, "exited")).code == 0
    assert not alive(int((world.work(job) / "child").read_text()))


async def test_a_job_without_its_shim_is_ended_and_told(world: World):
    await world.agent()
    script = "sleep 1000 & echo $! > new; mv new child; wait"
    job = world.job(command=["sh", "-c", script], readiness=once_there("child"))
    await world.send(job)
    running = await world.state(job, "ready")
    os.kill(world.shim(job), signal.SIGKILL)
    ended = await world.state(job, "exited")
    child = int((world.work(job) / "child").read_text())
    assert (ended.signal, ended.reason, alive(running.pid), alive(child)) == (9, "its shim was killed", False, False)


async def test_a_command_that_comes_twice_is_carried_out_once(world: World):
    """Also after the agent was killed; with another content it is refused."""
    agent = await world.agent()
    job = world.job(command=["sh", "-c", "echo start >> starts; sleep 1000"], readiness=once_there("starts"))
    first = await world.send(job)
    await world.state(job, "ready")
    assert await world.send(job) == first
    await agent.kill()
    await world.agent()
    assert await world.send(job) == first
    refused = await world.send(replace(job, fingerprint="another"))
    assert isinstance(refused, Rejected)
    assert refused.code == "EFFECT_FINGERPRINT_DIFFERS"
    assert (world.work(job) / "starts").read_text() == "start\n"


async def test_a_start_that_comes_after_its_stop_starts_nothing(world: World):
    await world.agent()
    job = world.job(command=["touch", "ran"])
    await world.stop(job)
    answer = await world.send(job)
    assert isinstance(answer, Rejected)
    assert answer.code == "JOB_REJECTED_CANCELLED"
    assert not world.work(job).exists()


@pytest.mark.req("F213")
async def test_a_declared_port_that_is_taken_refuses_the_start(world: World):
    await world.agent(address="127.0.0.11")
    with socket.socket() as other:
        other.bind(("127.0.0.11", 0))
        other.listen()
        port = f"{other.getsockname()[1]}/tcp"
        answer = await world.send(world.job(requirements={"requiredHostPorts": [port]}, command=["true"]))
    assert answer == Rejected(f"{port} at 127.0.0.11: Address already in use", "JOB_REJECTED_PORT_TAKEN")


@pytest.mark.req("F213")
async def test_the_same_port_at_another_nodes_address_is_free(world: World):
    await world.agent(address="127.0.0.12")
    with socket.socket() as other:
        other.bind(("127.0.0.11", 0))
        other.listen()
        port = f"{other.getsockname()[1]}/tcp"
        answer = await world.send(world.job(requirements={"requiredHostPorts": [port]}, command=["true"]))
    assert isinstance(answer, Applied)


@pytest.mark.req("F406")
async def test_a_start_above_the_nodes_capacity_is_refused(world: World):
    await world.agent()
    assert isinstance(
        await world.send(world.job(requirements={"requiredCapacity": 3}, command=["sleep", "100"])), Applied
    )
    answer = await world.send(world.job(requirements={"requiredCapacity": 1.5}, command=["true"]))
    assert answer == Rejected("1 of 1.5 vcpu free", "JOB_REJECTED_NO_CAPACITY")


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        (
            {"command": ["no-such-program"]},
            Rejected("no-such-program: No such file or directory", "JOB_REJECTED_INVALID_SPEC"),
        ),
        ({"command": ["/etc"]}, Rejected("/etc: Permission denied", "JOB_REJECTED_INVALID_SPEC")),
        (
            {"command": ["true", "${param.nope}"]},
            Rejected("command[1]: unknown reference ${param.nope}", "JOB_REJECTED_INVALID_SPEC"),
        ),
        (
            {"image": "busybox:1"},
            Rejected("image busybox:1: this node has no container engine", "JOB_REJECTED_NO_RUNTIME"),
        ),
        (
            {"command": ["true"], "runAs": "root"},
            Rejected("runAs: this node runs jobs as its own user only", "JOB_REJECTED_INVALID_SPEC"),
        ),
    ],
)
async def test_what_can_never_run_here_is_refused_and_leaves_nothing(world: World, fields: Any, answer: Rejected):
    agent = await world.agent()
    assert await world.send(world.job(**fields)) == answer
    assert list((agent.data / "instances").iterdir()) == []


@pytest.mark.req("B53")
async def test_a_job_finds_its_environment_and_nothing_of_the_agents(world: World):
    """Arguments reach it literally, references filled in."""
    os.environ["SECRET_OF_THE_AGENT"] = "x"
    try:
        await world.agent(address="127.0.0.11")
    finally:
        del os.environ["SECRET_OF_THE_AGENT"]
    words = ["$(id)", ";id", "`id`", "${param.bit-rate}k at ${node.address}", "$${kept}"]
    script = 'env > env.tmp; printf "%s\\n" "$@" > words; mv env.tmp env'
    job = world.job(
        command=["sh", "-c", script, "sh", *words],
        parameters={"bit-rate": 4500, "live": True, "share": 0.5},
        env={"WHERE": "http://${node.address}/", "PATH": os.environ["PATH"]},
    )
    await world.send(job)
    await world.state(job, "exited")
    found = dict(line.split("=", 1) for line in (world.work(job) / "env").read_text().splitlines())
    inherited = {name for name in os.environ if name in ("HOME", "USER", "LANG", "TZ") or name.startswith("LC_")}
    told = {
        "RM_JOB": job.job.replace(".", "/"),
        "RM_INSTANCE": job.instance,
        "RM_ATTEMPT": "1",
        "RM_RUNTIME_ROLE": "primary",
        "NORSK_RUNTIME_ROLE": "primary",
        "RM_NODE_ADDRESS": "127.0.0.11",
        "RM_PARAM_BIT_RATE": "4500",
        "RM_PARAM_LIVE": "true",
        "RM_PARAM_SHARE": "0.5",
        "WHERE": "http://127.0.0.11/",
    }
    assert {name: found.get(name) for name in told} == told
    assert set(found) - set(told) - inherited <= {"PATH", "RM_JOB_SOCKET", "PWD", "OLDPWD", "SHLVL", "_"}
    expected = ["$(id)", ";id", "`id`", "4500k at 127.0.0.11", "${kept}"]
    assert (world.work(job) / "words").read_text().splitlines() == expected


async def test_the_log_tail_keeps_the_last_64_kib_of_any_bytes(world: World):
    await world.agent()
    script = r"""
import sys
sys.stdout.buffer.write(b"first\n" + b"x" * 200_000 + b"\xff\xfe\x00last")
"""
    job = world.job(command=[sys.executable, "-c", script])
    await world.send(job)
    tail = await world.tail(job, lambda text: text.endswith(b"last"))
    assert (len(tail.text), tail.text[-8:], tail.truncated) == (65536, b"x\xff\xfe\x00last", True)


async def test_the_log_tail_of_a_living_job_follows_it_and_the_attempt_before_is_kept(world: World):
    await world.agent()
    job = world.job(command=["sh", "-c", "echo attempt $RM_ATTEMPT; [ $RM_ATTEMPT = 2 ] && sleep 1000"])
    await world.send(job)
    await world.state(job, "exited")
    second = attempt(job, 2)
    await world.send(second)
    await world.tail(second, lambda text: text == b"attempt 2\n")
    with world.store.read() as tx:
        kept = [(tail.attempt, tail.text) for tail in nodes.list_log_tails(tx, job.job_uid)]
    assert kept == [(2, b"attempt 2\n"), (1, b"attempt 1\n")]


async def test_a_server_that_was_away_hears_all_that_happened(world: World):
    await world.agent()
    job = world.job(command=["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; echo over; exit 6"])
    await world.send(job)
    running = await world.state(job, "ready")
    await world.shut()
    (world.work(job) / "go").touch()
    await gone(running.pid)
    await world.open()
    ended = await world.state(job, "exited")
    assert (ended.code, ended.pid) == (6, running.pid)
    await world.tail(job, lambda text: text == b"over\n")


async def test_a_second_agent_on_the_same_folder_is_refused(world: World):
    first = await world.agent()
    second = await world.agent(wait=False)
    assert await second.ended() == 5
    assert second.said.splitlines()[-1] == f"rmctl: error: another agent (pid {first.process.pid}) owns {first.data}"


async def test_an_instance_that_has_been_replaced_is_ended_when_its_node_returns(world: World):
    """The job has another instance by then, on another node."""
    agent = await world.agent()
    job = world.job(command=["sleep", "1000"])
    await world.send(job)
    running = await world.state(job, "ready")
    await agent.kill()
    world.move_on(job, "elsewhere-1-2")
    await world.agent()
    ended = await world.state(job, "exited")
    assert (ended.reason, alive(running.pid)) == ("a newer instance took over", False)


async def test_a_job_that_is_gone_leaves_nothing_on_its_node(tmp_path: Path):
    """Whether the node hears of it at once or when it connects again; another job's folder stays."""
    async with a_world(tmp_path, heartbeat_seconds=0.2) as world:
        agent = await world.agent()
        jobs = [world.job(command=["touch", "made"]) for _ in range(3)]
        for job in jobs:
            await world.send(job)
            await world.state(job, "exited")
        heard, missed, kept = (world.work(job) for job in jobs)
        world.delete(jobs[0])
        await world.until(lambda _tx: not heard.exists())
        await agent.kill()
        world.delete(jobs[1])
        await world.agent()
        await world.until(lambda _tx: not missed.exists())
        left = {path.name for path in (agent.data / "instances").iterdir()}
        assert (left, (kept / "made").exists()) == ({jobs[2].instance}, True)


async def test_the_work_folder_is_kept_over_the_attempts_of_its_job(world: World):
    await world.agent()
    job = world.job(command=["sh", "-c", "echo $RM_ATTEMPT >> attempts"])
    for number in (1, 2, 3, 4):
        await world.send(attempt(job, number))
        await world.state(attempt(job, number), "exited")
    assert (world.work(job) / "attempts").read_text() == "1\n2\n3\n4\n"
