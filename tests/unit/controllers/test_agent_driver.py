"""Starting and stopping through a node: what is answered, and what can be known without asking."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from api.agent_wire import command_to_wire
from controllers.providers.agent_commands import Command, StartJob, StartPrepared, StopJob, start_request
from controllers.providers.agents import AgentDriver, Connections
from resources.effect import Absent, Applied, Deferred, EffectRecord, Rejected, Unknown
from resources.facts import Instance
from resources.job import Job, JobSpec
from resources.reference import Ref
from tests.builders import a_job_spec
from tests.controllers_stage import a_job

SPEC = JobSpec.model_validate(a_job_spec())
START = EffectRecord(
    uid="u",
    key="start/1/1",
    owner=Ref("job", "b.primary.web", "default"),
    kind="StartJob",
    provider="agents",
    target="node-a",
    generation=1,
    fingerprint="f",
    request=start_request(
        project="default",
        job="b.primary.web",
        job_uid="u",
        instance="i",
        instance_key="primary",
        attempt=1,
        spec=SPEC,
    ),
    state="pending",
    attempts=1,
    created_at=0.0,
)
PREPARE = replace(START, key="prepare/1/1", kind="PrepareJob")
BEGIN = replace(START, key="begin/1/1", kind="StartPreparedJob", request={"instance": "i"})
STOP = replace(START, key="stop/1/1", kind="StopJob", request={"instance": "i"})


class Stream:
    """Keeps what was sent down, and answers at once what the test says."""

    def __init__(self, answer: Callable[[Command], None] = lambda _command: None) -> None:
        self.sent: list[Command] = []
        self.closed: list[str] = []
        self._answer = answer

    def deliver(self, command: Command) -> None:
        self.sent.append(command)
        threading.Thread(target=self._answer, args=(command,)).start()

    def close(self, reason: str) -> None:
        self.closed.append(reason)


@dataclass
class Known:
    """A reader that knows one instance at most, and the node's phase."""

    instance: Instance | None = None
    phase: str | None = "running"
    job: Job | None = None
    given_up: bool = False

    def instances(self, *, uid: str | None = None, node: str | None = None) -> list[Instance]:
        return [self.instance] if self.instance is not None and self.instance.uid == uid else []

    def find(self, ref: Ref) -> Any:
        if ref.kind == "job":
            return self.job
        if self.phase is None:
            return None
        return SimpleNamespace(status=SimpleNamespace(phase=self.phase, given_up=self.given_up))


def instance(state: Any) -> Instance:
    return Instance("u", "i", "primary", "node-a", 1, state, pid=7)


def connected(answer: Any = None) -> tuple[Connections, Stream]:
    connections = Connections()
    stream = Stream(lambda command: connections.settle("node-a", command.effect, answer) if answer else None)
    connections.register("node-a", stream)
    return connections, stream


@pytest.mark.req("T38")
@pytest.mark.parametrize("effect", [START, STOP], ids=["start", "stop"])
def test_each_kind_is_safe_by_a_token_that_is_the_effects_own(effect: EffectRecord):
    """The same for every try, another one for every other effect; its request cannot change, as the ledger sees to."""
    connections, stream = connected(Applied("done"))
    driver = AgentDriver(connections)
    for tried in (effect, replace(effect, attempts=2), replace(effect, key="start/1/2")):
        driver.apply(tried)
    first, again, other = (command.effect for command in stream.sent)
    assert (driver.safe[effect.kind], first, again) == ("token", effect.id, effect.id)
    assert other != first


@pytest.mark.req("T38")
def test_a_driver_says_of_every_kind_it_knows_how_it_is_safe():
    unknown = AgentDriver(Connections()).apply(replace(START, kind="RunInstances"))
    assert AgentDriver.creates | {"StopJob"} == set(AgentDriver.safe)
    assert unknown == Rejected("agents know no effect RunInstances", "UNSUPPORTED")


@pytest.mark.parametrize(
    ("answer", "applied"),
    [
        (Applied("u:start/1/1", {"pid": 7}), Applied("i", {"pid": 7})),
        (Rejected("no", "JOB_REJECTED_NO_CAPACITY"), Rejected("no", "JOB_REJECTED_NO_CAPACITY")),
        (Deferred("busy", 5.0), Deferred("busy", 5.0)),
    ],
)
def test_what_the_node_answers_is_the_answer(answer: Any, applied: Any):
    connections, stream = connected(answer)
    assert AgentDriver(connections).apply(START) == applied
    [command] = stream.sent
    assert isinstance(command, StartJob)
    assert (command.effect, command.fingerprint, command.instance, command.spec) == ("u:start/1/1", "f", "i", SPEC)


def test_a_stop_names_the_instance():
    connections, stream = connected(Applied("x"))
    assert AgentDriver(connections).apply(STOP) == Applied("i")
    assert stream.sent == [StopJob("u:stop/1/1", "f", "i")]


def test_a_node_that_is_not_connected_is_tried_later():
    answer = AgentDriver(Connections()).apply(START)
    assert answer == Deferred("node-a is not connected", 5.0)


def test_nothing_goes_down_a_stream_that_was_ended_here():
    """It certainly does not happen, so it may be sent again once the node is back."""
    connections, stream = connected(Applied("done"))
    connections.close("say again what runs")
    assert AgentDriver(connections).apply(START) == Deferred("node-a is connecting again", 5.0)
    connections.unregister("node-a", stream)
    assert (AgentDriver(connections).apply(START), stream.sent) == (Deferred("node-a is connecting again", 5.0), [])
    connections.register("node-a", Stream())
    assert AgentDriver(connections, seconds=0.0).apply(START) == Unknown("node-a has not answered within 0 s")


def test_a_node_that_does_not_answer_leaves_it_unknown():
    connections, _ = connected()
    assert AgentDriver(connections, seconds=0.0).apply(START) == Unknown("node-a has not answered within 0 s")


def test_a_stream_that_ends_or_is_replaced_leaves_it_unknown():
    """Nobody waits on for an answer that cannot come."""
    connections = Connections()
    stream = Stream(lambda _command: connections.unregister("node-a", stream))
    connections.register("node-a", stream)
    assert AgentDriver(connections).apply(START) == Unknown("the stream ended before the answer came")
    older = Stream(lambda _command: connections.register("node-a", Stream()))
    connections.register("node-a", older)
    assert AgentDriver(connections).apply(START) == Unknown("the stream ended before the answer came")
    assert older.closed == ["the node has connected again"]


def test_an_older_stream_that_ends_late_takes_nothing_with_it():
    connections, older = connected()
    newer = Stream()
    connections.register("node-a", newer)
    assert (connections.unregister("node-a", older), connections.connected("node-a")) == (False, True)
    assert (connections.unregister("node-a", newer), connections.connected("node-a")) == (True, False)


def test_a_late_answer_finds_nobody():
    connections, _ = connected()
    AgentDriver(connections, seconds=0.0).apply(START)
    assert connections.settle("node-a", START.id, Applied("x")) is False


@pytest.mark.parametrize(
    ("request_", "words"), [({"instance": "i"}, "the request cannot be read: 'project'"), ({}, "the request")]
)
def test_a_request_of_another_shape_is_refused(request_: dict[str, Any], words: str):
    connections, stream = connected(Applied("x"))
    answer = AgentDriver(connections).apply(replace(START, request=request_ | {"spec": {}}))
    assert isinstance(answer, Rejected)
    assert (answer.error.startswith(words), answer.code, stream.sent) == (True, "JOB_REJECTED_INVALID_SPEC", [])


def test_a_secret_that_is_not_there_is_waited_for():
    connections, stream = connected(Applied("x"))
    spec = SPEC.model_copy(update={"secret_env": {}}).model_dump(mode="json", by_alias=True, exclude_defaults=True)
    effect = replace(
        START, request=START.request | {"spec": spec | {"secretEnv": {"KEY": {"secret": "db", "key": "password"}}}}
    )
    answer = AgentDriver(connections, secrets=lambda _project, _secret, _key: None).apply(effect)
    assert answer == Deferred("secretEnv.KEY: secret db has no key password: rmctl secret set db password", 5.0)
    AgentDriver(connections, secrets=lambda _project, secret, key: f"{secret}/{key}").apply(effect)
    [command] = stream.sent
    assert isinstance(command, StartJob)
    assert (command.secrets, "db/password" in repr(command)) == ({"KEY": "db/password"}, False)


@pytest.mark.parametrize(
    ("effect", "known", "seen"),
    [
        (START, Known(), Absent()),
        (START, Known(instance("starting")), Unknown("node-a is at it")),
        (START, Known(instance("running")), Applied("i", {"pid": 7})),
        (START, Known(instance("exited")), Applied("i", {"pid": 7})),
        (PREPARE, Known(), Absent()),
        (PREPARE, Known(instance("prepared")), Applied("i", {"pid": 7})),
        (PREPARE, Known(instance("exited")), Applied("i", {"pid": 7})),
        (BEGIN, Known(), Absent()),
        (BEGIN, Known(instance("prepared")), Absent()),
        (BEGIN, Known(instance("starting")), Unknown("node-a is at it")),
        (BEGIN, Known(instance("running")), Applied("i", {"pid": 7})),
        (STOP, Known(), Applied("i")),
        (STOP, Known(instance("prepared")), Absent()),
        (STOP, Known(instance("ready")), Absent()),
        (STOP, Known(instance("stopping")), Applied("i")),
        (STOP, Known(instance("exited")), Applied("i")),
    ],
)
def test_of_a_connected_node_what_it_told_is_the_truth(effect: EffectRecord, known: Known, seen: Any):
    connections, _ = connected()
    assert AgentDriver(connections).observe(effect, known) == seen


def test_what_was_sent_on_this_stream_and_not_answered_is_unknown():
    """A new stream begins with the whole truth, so nothing of the older one is open."""
    connections, _ = connected()
    driver = AgentDriver(connections, seconds=0.0)
    driver.apply(START)
    assert driver.observe(START, Known()) == Unknown("node-a has not answered yet")
    connections.register("node-a", Stream())
    assert driver.observe(START, Known()) == Absent()


@pytest.mark.parametrize(
    ("phase", "seen"),
    [
        ("running", Unknown("node-a is silent")),
        ("silent", Unknown("node-a is silent")),
        ("lost", Absent()),
        ("terminated", Absent()),
        (None, Absent()),
    ],
)
@pytest.mark.parametrize("effect", [START, STOP], ids=["start", "stop"])
def test_of_a_silent_node_nothing_is_known_until_it_is_lost(effect: EffectRecord, phase: str | None, seen: Any):
    assert AgentDriver(Connections()).observe(effect, Known(phase=phase)) == seen


@pytest.mark.parametrize(
    ("was", "rule", "seen"),
    [
        ("replace", "replace", Absent()),
        ("stop", "stop", Absent()),
        ("stop", "replace", Absent()),
        ("replace", "stop", Unknown("node-a is silent")),
        ("hold", "hold", Unknown("node-a is silent")),
    ],
)
def test_a_start_on_a_lost_node_is_unknown_while_its_job_may_not_have_two(was: str, rule: str, seen: Any):
    """Without a fence nothing has ended it; only a person's word does, or the node's return."""
    start = replace(START, request={**START.request, "spec": {"onDisconnect": was}})
    known = Known(phase="lost", job=a_job(onDisconnect=rule))
    assert AgentDriver(Connections()).observe(start, known) == seen
    assert AgentDriver(Connections()).observe(start, replace(known, given_up=True)) == Absent()


@pytest.mark.req("F407")
def test_a_start_in_two_steps_is_two_commands():
    connections, stream = connected(Applied("x"))
    assert AgentDriver(connections).apply(PREPARE) == Applied("i")
    assert AgentDriver(connections).apply(BEGIN) == Applied("i")
    prepare, begin = stream.sent
    assert isinstance(prepare, StartJob)
    assert (prepare.prepare, command_to_wire(prepare).start.defer_start) == (True, True)
    assert begin == StartPrepared("u:begin/1/1", "f", "i")
    assert command_to_wire(begin).start_prepared.instance_id == "i"
