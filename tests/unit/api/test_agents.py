"""What agents say, written into the store: who may say it, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.agent_facts import AgentFacts, Welcomed
from api.agent_join import NotAllowed, NotKnown
from api.agent_wire import Hello, JobFolder
from controllers.providers.agent_commands import StopJob
from resources.allocation import Allocation
from resources.effect import Effect
from resources.facts import Driver, Instance, Inventory, LogTail
from resources.reference import Ref
from store import credentials, effects, events, ledger, nodes, resources
from store.notes import Woken
from store.store import Store, notes_of
from store.tx import Tx
from tests.builders import POOL, a_job_spec, a_pool
from tests.clocked import Clocked

TOKEN = "t" * 43
OWN = "c" * 43
NODE = Ref("node", "node-a")
JOB = Ref("job", "b.primary.web", "default")
INVENTORY = Inventory(4000, 4, 1024, address="127.0.0.11", zone="zone-a", capabilities=("nvenc",), agent_version="1")


@pytest.fixture
def clock() -> Clocked:
    return Clocked()


@pytest.fixture
def store(tmp_path: Path, clock: Clocked) -> Iterator[Store]:
    opened = Store.open(tmp_path / "data", clock)
    opened.write(lambda tx: resources.create(tx, POOL, a_pool()))
    opened.write(lambda tx: credentials.issue_join(tx, TOKEN, "node-a", pool="local", labels={"rack": "r1"}))
    yield opened
    opened.close()


@pytest.fixture
def facts(store: Store) -> AgentFacts:
    return AgentFacts(store)


def a_hello(**fields: Any) -> Hello:
    known = {"node": "node-a", "boot_id": "boot-1", "inventory": INVENTORY, "credential": OWN, "join_token": TOKEN}
    return Hello(**(known | fields))


def a_job(store: Store, node: str = "node-a") -> str:
    """Its uid; room is claimed for it on the node."""

    def create(tx: Tx) -> str:
        uid = str(resources.create(tx, JOB, a_job_spec()).uid)
        ledger.set_room(tx, node, "local", {"vcpu": (4000, 4000), "cores": (4, 4), "memory": (1024, 1024)})
        ledger.reserve(tx, Allocation(f"{uid}:1", uid, JOB, "i1", "local", node, 1000))
        return uid

    return store.write(create)


def an_instance(uid: str, state: Any = "running", **fields: Any) -> Instance:
    return Instance(uid, "i1", "primary", "node-a", 1, state, **({"pid": 7, "at": 1000.0, "job": JOB.name} | fields))


def stored(store: Store, uid: str) -> list[Instance]:
    with store.read() as tx:
        return list(nodes.list_instances(tx, uid=uid))


class Wakes:
    """The keys that were woken since it was last asked."""

    def __init__(self, store: Store) -> None:
        self._woken: set[Ref] = set()
        store.subscribe(lambda notes: self._woken.update(note.ref for note in notes_of(notes, Woken)))

    def since(self) -> set[Ref]:
        found = set(self._woken)
        self._woken.clear()
        return found


@pytest.fixture
def wakes(store: Store) -> Wakes:
    return Wakes(store)


def test_the_hello_that_spends_a_token_makes_the_node(store: Store, facts: AgentFacts, clock: Clocked):
    hello = a_hello(inventory=replace(INVENTORY, labels={"disk": "ssd", "rmctl/evil": "1"}))
    assert facts.hello(hello) == Welcomed(fence_seconds=40.0)
    with store.read() as tx:
        node = resources.get(tx, NODE)
        known = nodes.facts(tx, "node-a")
    assert (node.document, dict(node.labels)) == (
        {"pool": "local", "provider": "agent", "zone": "zone-a"},
        {"disk": "ssd", "rack": "r1", "rmctl/cap.nvenc": "1"},
    )
    assert known is not None
    assert (known.boot_id, known.last_heartbeat, known.connected) == ("boot-1", clock.time, True)


def test_an_agent_without_a_credential_of_its_own_is_given_one(facts: AgentFacts):
    first = facts.hello(a_hello(credential=""))
    assert isinstance(first, Welcomed)
    assert len(first.credential) >= 43
    again = facts.hello(a_hello(credential=first.credential, join_token=""))
    assert again == Welcomed(fence_seconds=40.0)


def warnings(store: Store) -> list[tuple[str, str]]:
    with store.read() as tx:
        return [(e.type, e.message) for e in events.list_for(tx, NODE) if e.severity == "Warning"]


def test_two_agents_with_one_credential_are_told(store: Store, facts: AgentFacts):
    for _ in range(5):
        facts.hello(a_hello())
    facts.disconnected("node-a")
    facts.hello(a_hello())
    assert warnings(store) == []
    facts.hello(a_hello())
    assert [type_ for type_, _ in warnings(store)] == ["NodeContested"]


def test_an_address_that_is_not_taken_is_told(store: Store, facts: AgentFacts):
    for address in ("127.0.0.11", "127.0.0.11", "10.0.0.1"):
        facts.hello(a_hello(inventory=replace(INVENTORY, address=address)))
    ((type_, told),) = warnings(store)
    assert type_ == "NodeAddressKept"
    assert told.startswith("says that its address is 10.0.0.1; 127.0.0.11 stays:")


@pytest.mark.req("B94")
@pytest.mark.parametrize(
    "wrong",
    [
        {"join_token": "", "credential": ""},
        {"join_token": "x" * 43, "credential": ""},
        {"join_token": "", "credential": "x" * 43},
        {"join_token": OWN, "credential": TOKEN},
    ],
)
def test_every_stranger_gets_the_same_answer(store: Store, facts: AgentFacts, wrong: dict[str, str]):
    assert facts.hello(a_hello(**wrong)) == NotKnown("node-a")
    with store.read() as tx:
        assert (resources.find(tx, NODE), nodes.facts(tx, "node-a")) == (None, None)


@pytest.mark.req("B94")
def test_a_token_is_spent_once(facts: AgentFacts):
    facts.hello(a_hello())
    assert facts.hello(a_hello(credential="d" * 43)) == NotKnown("node-a")
    assert facts.hello(a_hello()) == Welcomed(fence_seconds=40.0)


@pytest.mark.req("B94")
def test_a_token_is_good_for_fifteen_minutes(facts: AgentFacts, clock: Clocked):
    clock.time += 15 * 60
    assert facts.hello(a_hello()) == NotKnown("node-a")


@pytest.mark.req("B95")
def test_a_token_or_credential_of_another_node_is_not_enough(facts: AgentFacts):
    assert facts.hello(a_hello(node="node-b")) == NotAllowed("this join token is not for node node-b")
    facts.hello(a_hello())
    assert facts.hello(a_hello(node="node-b")) == NotAllowed("this credential is not for node node-b")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pool": "other"}, "this join token is for pool local, not other"),
        ({"credential": "short"}, "a credential has 40 characters or more"),
    ],
)
def test_a_join_that_is_refused_spends_nothing(facts: AgentFacts, fields: dict[str, str], words: str):
    assert facts.hello(a_hello(**fields)) == NotAllowed(words)
    assert isinstance(facts.hello(a_hello()), Welcomed)


def test_a_pool_that_is_not_there_refuses_the_join(store: Store, facts: AgentFacts):
    store.write(lambda tx: credentials.issue_join(tx, "u" * 43, "node-b"))
    hello = a_hello(node="node-b", join_token="u" * 43, credential="e" * 43)
    assert facts.hello(hello) == NotAllowed("pool default does not exist")
    assert facts.hello(replace(hello, pool="local")) == Welcomed(fence_seconds=40.0)


def test_later_hellos_change_neither_labels_nor_address_and_nothing_grows(store: Store, facts: AgentFacts):
    facts.hello(a_hello())
    other = replace(
        INVENTORY, capacity_milli=9000, cores=2, memory_mib=9999, address="10.0.0.1", labels={"x": "y"}, capabilities=()
    )
    facts.hello(a_hello(inventory=other))
    with store.read() as tx:
        known = nodes.facts(tx, "node-a")
        labels = dict(resources.get(tx, NODE).labels)
    assert known is not None
    told = known.inventory
    assert (told.capacity_milli, told.cores, told.memory_mib, told.address) == (4000, 2, 1024, "127.0.0.11")
    assert labels == {"rack": "r1"}


@pytest.mark.req("P49", "P50")
def test_each_hello_labels_the_node_with_its_drivers_and_takes_back_those_that_it_names_no_more(
    store: Store, facts: AgentFacts
):
    both = (Driver("process", "1.2", ("command",)), Driver("docker", "27.1", ("image", "command")))
    facts.hello(a_hello(inventory=replace(INVENTORY, drivers=both)))
    with store.read() as tx:
        labels = dict(resources.get(tx, NODE).labels)
    assert {key: value for key, value in labels.items() if "driver" in key} == {
        "rmctl/driver.process": "1.2",
        "rmctl/driver-kind.process.command": "1",
        "rmctl/driver.docker": "27.1",
        "rmctl/driver-kind.docker.image": "1",
        "rmctl/driver-kind.docker.command": "1",
    }
    facts.hello(a_hello(inventory=replace(INVENTORY, drivers=both[:1])))
    with store.read() as tx:
        labels = dict(resources.get(tx, NODE).labels)
    assert sorted(key for key in labels if "driver" in key) == [
        "rmctl/driver-kind.process.command",
        "rmctl/driver.process",
    ]
    assert labels["rmctl/cap.nvenc"] == "1"


def test_a_report_is_stored_and_wakes_job_and_node(store: Store, facts: AgentFacts, wakes: Wakes):
    facts.hello(a_hello())
    uid = a_job(store)
    wakes.since()
    facts.report("node-a", 1, an_instance(uid))
    assert (stored(store, uid), wakes.since()) == ([an_instance(uid)], {JOB, NODE})


@pytest.mark.req("B107")
def test_a_number_that_is_repeated_or_goes_back_changes_nothing(store: Store, facts: AgentFacts):
    facts.hello(a_hello(report_seq=4))
    uid = a_job(store)
    facts.report("node-a", 6, an_instance(uid, "ready"))
    facts.report("node-a", 6, an_instance(uid, "exited", code=1))
    facts.report("node-a", 5, an_instance(uid, "exited", code=2))
    assert stored(store, uid) == [an_instance(uid, "ready")]


def test_an_end_is_final_and_a_state_never_goes_back(store: Store, facts: AgentFacts):
    facts.hello(a_hello())
    uid = a_job(store)
    states = [("ready", {}), ("running", {}), ("exited", {"code": 3}), ("ready", {}), ("exited", {"code": 4})]
    for seq, (state, fields) in enumerate(states, start=1):
        facts.report("node-a", seq, an_instance(uid, state, **fields))
    assert stored(store, uid) == [an_instance(uid, "exited", code=3)]


def test_a_node_speaks_of_its_own_instances_only(store: Store, facts: AgentFacts):
    """Neither of another node's, nor of a job that has no room there."""
    store.write(lambda tx: credentials.issue_join(tx, "u" * 43, "node-b", pool="local"))
    facts.hello(a_hello())
    facts.hello(a_hello(node="node-b", join_token="u" * 43, credential="e" * 43))
    uid = a_job(store)
    facts.report("node-b", 1, replace(an_instance(uid), node="node-b"))
    assert stored(store, uid) == []
    facts.report("node-a", 1, an_instance(uid))
    facts.report("node-b", 2, replace(an_instance(uid, "exited"), node="node-b"))
    facts.log_tail("node-b", LogTail(uid, "i1", 1, b"lies", truncated=False, at=1.0))
    with store.read() as tx:
        assert (nodes.list_instances(tx, uid=uid), nodes.list_log_tails(tx, uid)) == ((an_instance(uid),), ())


@pytest.mark.parametrize(("boot", "reason"), [("boot-1", "lost with its agent's memory"), ("boot-2", "node restarted")])
def test_an_instance_that_a_hello_does_not_name_has_ended(
    store: Store, facts: AgentFacts, wakes: Wakes, boot: str, reason: str
):
    facts.hello(a_hello())
    uid = a_job(store)
    facts.report("node-a", 1, an_instance(uid))
    wakes.since()
    facts.hello(a_hello(boot_id=boot, report_seq=1))
    assert stored(store, uid) == [an_instance(uid, "exited", reason=reason)]
    assert JOB in wakes.since()


def test_an_instance_that_a_hello_names_is_as_it_says(store: Store, facts: AgentFacts):
    facts.hello(a_hello())
    uid = a_job(store)
    facts.report("node-a", 1, an_instance(uid))
    ended = an_instance(uid, "exited", code=3, at=1001.0)
    assert facts.hello(a_hello(instances=(ended,), report_seq=9)) == Welcomed(fence_seconds=40.0)
    assert stored(store, uid) == [ended]


def test_an_instance_without_a_job_or_behind_a_newer_one_is_to_be_ended(store: Store, facts: AgentFacts):
    facts.hello(a_hello())
    uid = a_job(store)
    facts.report("node-a", 1, an_instance(uid))
    orphan = replace(an_instance("no-such-job"), id="i9")
    welcome = facts.hello(a_hello(instances=(an_instance(uid), orphan), report_seq=1))
    assert welcome == Welcomed(fence_seconds=40.0, superseded=("i9",))

    def move_on(tx: Tx) -> None:
        job = resources.get(tx, JOB)
        resources.replace_status(tx, job, job.status.model_copy(update={"instance_id": "i2"}))

    store.write(move_on)
    welcome = facts.hello(a_hello(instances=(an_instance(uid),), report_seq=1))
    assert welcome == Welcomed(fence_seconds=40.0, superseded=("i1",))


@pytest.mark.req("B107")
def test_a_heartbeat_counts_by_the_servers_clock_and_wakes_only_a_quiet_node(
    store: Store, facts: AgentFacts, clock: Clocked, wakes: Wakes
):
    facts.hello(a_hello())
    wakes.since()
    clock.time += 5
    facts.heartbeats(["node-a"])
    with store.read() as tx:
        known = nodes.facts(tx, "node-a")
    assert known is not None
    assert (known.last_heartbeat, wakes.since()) == (clock.time, set())

    def fall_silent(tx: Tx) -> None:
        node = resources.get(tx, NODE)
        resources.replace_status(tx, node, node.status.model_copy(update={"phase": "silent"}))

    store.write(fall_silent)
    wakes.since()
    facts.heartbeats(["node-a"])
    assert wakes.since() == {NODE}


def test_a_stream_that_ends_is_noted_and_wakes_the_node(store: Store, facts: AgentFacts, wakes: Wakes):
    facts.hello(a_hello())
    wakes.since()
    facts.disconnected("node-a")
    with store.read() as tx:
        known = nodes.facts(tx, "node-a")
    assert known is not None
    assert (known.connected, wakes.since()) == (False, {NODE})


def test_a_fence_is_twenty_seconds_inside_the_pools_patience(store: Store, facts: AgentFacts):
    lost = {"disconnect": {"silentSeconds": 15, "lostSeconds": 90}}
    store.write(lambda tx: resources.replace(tx, resources.get(tx, POOL), document=a_pool(**lost)))
    assert facts.hello(a_hello()) == Welcomed(fence_seconds=70.0)


@pytest.mark.parametrize(
    ("silent", "lost", "fence", "beat"), [(15, 60, 40, 5), (4, 8, 4, 4 / 3), (15, 25, 5, 5 / 3), (1, 21, 1, 1 / 3)]
)
def test_heartbeats_come_three_times_within_the_pools_patience_and_the_fence(
    store: Store, facts: AgentFacts, silent: float, lost: float, fence: float, beat: float
):
    """Else a node that is well is silent between two of them, or ends its own jobs."""
    limits = {"disconnect": {"silentSeconds": silent, "lostSeconds": lost}}
    store.write(lambda tx: resources.replace(tx, resources.get(tx, POOL), document=a_pool(**limits)))
    welcome = facts.hello(a_hello())
    assert isinstance(welcome, Welcomed)
    assert (welcome.fence_seconds, welcome.beat_seconds) == pytest.approx((fence, beat))


def test_what_is_told_to_live_without_a_claim_is_ended_by_the_answer(store: Store, facts: AgentFacts):
    """A slow start comes true after its job was deleted, or after its node was given up."""
    facts.hello(a_hello())
    uid = a_job(store)
    assert facts.report("node-a", 1, an_instance(uid)) is None
    store.write(lambda tx: ledger.release(tx, ledger.list_allocations(tx, uid=uid)[0].id))
    assert facts.report("node-a", 2, an_instance(uid, "ready")) == StopJob("stray:i1", "stray", "i1")
    assert facts.report("node-a", 3, an_instance(uid, "exited")) is None
    assert facts.report("node-a", 4, an_instance("no-such-job")) == StopJob("stray:i1", "stray", "i1")


def test_a_hello_wakes_the_job_of_what_lives_without_a_claim(store: Store, facts: AgentFacts, wakes: Wakes):
    facts.hello(a_hello())
    uid = a_job(store)
    facts.report("node-a", 1, an_instance(uid))
    store.write(lambda tx: ledger.release(tx, ledger.list_allocations(tx, uid=uid)[0].id))
    wakes.since()
    welcome = facts.hello(a_hello(instances=(an_instance(uid),), report_seq=1))
    assert (welcome.superseded, JOB in wakes.since()) == (("i1",), True)


def test_a_returning_node_may_speak_of_what_was_ordered_there_though_its_room_was_given_back(
    store: Store, facts: AgentFacts
):
    """Its job waits for it to end, so it has to be known."""
    facts.hello(a_hello())
    uid = a_job(store)
    order = Effect("StartJob", "start/1/1", "agents", {"instance": "i1"}, target="node-a")

    def give_back(tx: Tx) -> None:
        effects.record(tx, resources.get(tx, JOB), order)
        ledger.release(tx, ledger.list_allocations(tx, uid=uid)[0].id)

    store.write(give_back)
    elsewhere = replace(an_instance(uid), id="i2")
    welcome = facts.hello(a_hello(instances=(an_instance(uid), elsewhere)))
    assert welcome == Welcomed(fence_seconds=40.0, superseded=("i1", "i2"))
    assert stored(store, uid) == [an_instance(uid)]


def test_a_hello_is_told_which_of_the_folders_it_keeps_are_of_jobs_that_are_gone(store: Store, facts: AgentFacts):
    """Also when a job of that name was made anew."""
    uid = a_job(store)
    stands, unknown = JobFolder("default", JOB.name, uid), JobFolder("default", JOB.name)
    gone, older = JobFolder("default", "b.primary.gone"), JobFolder("default", JOB.name, "an-older-uid")
    welcome = facts.hello(a_hello(kept=(stands, unknown, gone, older)))
    assert isinstance(welcome, Welcomed)
    assert (welcome.gone, welcome.kept) == ((gone, older), (uid, uid))


def test_the_nodes_that_ran_a_job_hear_that_it_is_gone(store: Store):
    heard: list[tuple[str, JobFolder]] = []
    facts = AgentFacts(store, lambda node, folder: heard.append((node, folder)))
    facts.hello(a_hello())
    uid = a_job(store)
    facts.report("node-a", 1, an_instance(uid))
    facts.report("node-a", 2, an_instance(uid, "exited"))
    store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, JOB)))
    assert heard == [("node-a", JobFolder("default", JOB.name, uid))]
