"""What the placer is asked for a job."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.expansion import expand
from controllers.jobs.question import question
from controllers.jobs.view import JobView
from controllers.placing import Mate, policy_of, request_for
from controllers.scheduling import PLAIN
from placement import LEXICOGRAPHIC, Amounts, FleetView, Forbid, NodeView, Request, Spare
from resources.bundle import BundleSpec
from resources.job import JobStatus
from resources.job_entry import WHOLE_GPU
from resources.pool import PoolSpec
from resources.reference import Ref
from resources.selectors import Expression, Selector
from tests.builders import a_bundle, a_job_entry, a_pool
from tests.controllers_stage import Stage, a_job

COMMAND = {"rmctl/driver.process": "*"}
ITS_OWN = {"rmctl/driver.process": ("1", "system")}


def asked(mates: list[Mate] | None = None, fleet: FleetView | None = None, **spec: Any) -> Request:
    job = a_job(**spec)
    return request_for(job.ref, job.spec, mates or [], fleet or FleetView())


def mate(name: str, **spec: Any) -> Mate:
    _, role, job = name.split(".")
    made = a_job(name=name, **{"role": role, "index": int(role == "backup"), "jobName": job, **spec})
    return Mate(made.ref, made.spec)


def a_fleet(**owners: str) -> FleetView:
    """Nodes a and b in zones za and zb, and who claims which: `ch_primary_web="a"`."""
    on = Stage()
    for name in ("a", "b"):
        on.node(name, zone=f"z{name}")
    for owner, node in owners.items():
        on.sibling(owner.replace("_", "."), on=node)
    return on.fleet


@pytest.mark.req("F67", "F68", "F69", "F70")
def test_requirements_become_amounts_labels_and_ports() -> None:
    needs = {
        "requiredCapacity": 1.5,
        "requiredCores": 2,
        "requiredMemoryMiB": 64,
        "requiredCapabilities": ["nvenc"],
        "requiredHostPorts": ["8101/tcp"],
    }
    request = asked(requirements=needs)
    assert request.amounts == request.room == Amounts(1500, 2, 64)
    assert (request.labels, request.ports) == ({"rmctl/cap.nvenc": "*", **COMMAND}, ("8101/tcp",))
    assert (request.owner, request.pool, request.role) == ("default/ch.primary.web", "local", "primary")


@pytest.mark.req("F82", "F95")
def test_the_first_of_a_group_asks_for_all_of_it() -> None:
    needs = {"requiredCapacity": 2, "requiredHostPorts": ["1/tcp"], "requiredCapabilities": ["gpu"]}
    mates = [
        mate("ch.primary.log", requirements=needs, exclusive=True),
        mate("ch.backup.log"),
        mate("ch.primary.other"),
    ]
    request = asked(mates, coLocateWith=["log"])
    assert (request.amounts, request.room) == (Amounts(1000), Amounts(3000))
    assert (request.group_ports, request.labels) == (("1/tcp",), {"rmctl/cap.gpu": "*", **COMMAND})
    assert (request.together, request.exclusive) == ({"default/ch.primary.log"}, True)


def test_the_rest_of_a_group_asks_for_itself() -> None:
    mates = [mate("ch.primary.log", requirements={"requiredCapacity": 2})]
    request = asked(mates, a_fleet(ch_primary_log="a"), coLocateWith=["log"])
    assert (request.room, request.group_ports) == (Amounts(1000), ())


@pytest.mark.req("F81")
def test_rules_are_about_the_same_copy() -> None:
    request = asked([mate("ch.backup.log"), mate("ch.primary.log")], separateFrom=["log"])
    assert request.separate == {"default/ch.primary.log"}
    assert request.peers == {"default/ch.primary.log"}


@pytest.mark.req("F107", "F108", "F113", "F115")
@pytest.mark.parametrize(
    ("flags", "forbid"),
    [
        ({}, Forbid()),
        ({"sameNode": "forbid"}, Forbid(nodes=frozenset({"a", "b"}))),
        ({"sameAz": "forbid"}, Forbid(zones=frozenset({"za", "zb"}))),
        ({"sameCloud": "forbid"}, Forbid(clouds=frozenset({"local-servers"}))),
    ],
)
def test_a_backup_keeps_away_from_every_node_of_the_primary(flags: dict[str, str], forbid: Forbid) -> None:
    mates = [mate("ch.primary.web"), mate("ch.primary.log")]
    fleet = a_fleet(ch_primary_web="a", ch_primary_log="b")
    assert asked(mates, fleet, role="backup", index=1, forbid=flags).forbid == forbid
    assert asked(mates, fleet).forbid == Forbid()


@pytest.mark.req("F89", "F90", "F93")
@pytest.mark.parametrize(("given", "rule"), [({}, "soft"), ({"sameAz": "hard"}, "hard"), ({"sameAz": "off"}, "off")])
def test_the_zone_rule_is_passed_on(given: dict[str, str], rule: str) -> None:
    assert asked(**given).same_zone == rule


@pytest.mark.req("F118", "F120", "F127", "F150", "FA13")
@pytest.mark.parametrize(
    ("ran", "launch", "policy", "preference"),
    [
        (False, "avoidSpare", "preferSpare", "avoid"),
        (False, "allowSpare", "avoidSpare", "any"),
        (True, "allowSpare", "avoidSpare", "avoid"),
        (True, "avoidSpare", "preferSpare", "prefer"),
    ],
)
def test_the_launch_rule_holds_until_the_job_has_once_run(ran: bool, launch: str, policy: str, preference: str) -> None:
    job = a_job(onLaunch=launch, requirements={"onRuntimeFailure": policy})
    assert request_for(job.ref, job.spec, [], FleetView(), ever_ran=ran).spare == preference


@pytest.mark.req("F121")
def test_an_override_of_reservations_is_passed_on() -> None:
    assert (asked(overrideReservation=True).override_reservation, asked().override_reservation) == (True, False)


@pytest.mark.req("F151", "F157", "FA15")
def test_the_question_of_a_failed_job_leaves_its_node_out_with_a_second_chance() -> None:
    status = JobStatus(excluded_node="a", excluded_reason="recovering from this node", ever_ran=True)
    request = question(a_job(), status, JobView(), FleetView(), {"b": "vcpu on b ran out"})
    assert request.excluded == {"a": "recovering from this node", "b": "vcpu on b ran out"}
    assert request.second_chance == {"a"}


@pytest.mark.req("FA14")
def test_the_question_of_a_refused_job_leaves_the_refusing_node_out_without_one() -> None:
    status = JobStatus(excluded_node="a", excluded_reason="refused the start: no room")
    assert question(a_job(), status, JobView(), FleetView()).second_chance == frozenset()


def test_what_would_be_given_back_is_not_in_the_way() -> None:
    fleet = a_fleet(ch_primary_web="a")
    with fleet.without(["ch.primary.web.1.1"]) as less:
        assert less.nodes_of("default/ch.primary.web") == ()
    assert fleet.nodes_of("default/ch.primary.web") == ("a",)
    with fleet.without([]) as same:
        assert same is fleet


def test_a_pool_becomes_a_policy_tier_by_tier() -> None:
    cloud = {
        "name": "spot",
        "kind": "aws",
        "scaleOut": "elastic",
        "packingStrategy": "spread",
        "maxNodes": 3,
        "candidateInstanceTypes": [{"instanceType": "m", "totalCapacity": 2.5, "totalCores": 2, "capabilities": ["x"]}],
    }
    fixed = {"name": "local", "kind": "local-servers", "scaleOut": "fixed"}
    policy = policy_of(PoolSpec.model_validate(a_pool(tiers=[fixed, cloud])))
    assert [(t.name, t.kind, t.packing, t.elastic, t.max_nodes) for t in policy.tiers] == [
        ("local", "local-servers", "binpack", False, None),
        ("spot", "aws", "spread", True, 3),
    ]
    shape = policy.tiers[1].shapes[0]
    assert (shape.capacity, dict(shape.labels)) == (
        Amounts(2500, 2, 0),
        {"rmctl/cap.x": "", "rmctl/driver.process": ""},
    )
    assert policy.ranking.top_n == 1


@pytest.mark.parametrize(
    ("ranking", "names"),
    [
        ("weighted", ("packing+topology+spread",)),
        ({"levels": [["booted"], {"binpack": 2}], "topN": 3}, ("booted", "packing")),
    ],
)
def test_a_pools_ranking_is_the_policys(ranking: Any, names: tuple[str, ...]) -> None:
    assert policy_of(PoolSpec.model_validate(a_pool(ranking=ranking))).ranking.names == names


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        ([["booted", "heat"], ["packing"]], ("booted", "packing")),
        ([{"heat": 1}, {"packing": 1}], ("packing",)),
        ([["heat"]], LEXICOGRAPHIC.names),
    ],
)
def test_what_a_plugin_has_brought_and_brings_no_more_is_passed_over(levels: Any, names: tuple[str, ...]) -> None:
    pool = PoolSpec.model_validate(a_pool(ranking={"levels": levels}))
    assert (policy_of(pool).ranking.names, PLAIN.strangers(pool)) == (names, ("heat",))


@pytest.mark.req("F205", "F210")
def test_a_model_restricts_a_whole_gpu_too() -> None:
    needs = {"requiredGpuModel": "H100", "requiredCapabilities": [WHOLE_GPU]}
    (ask,) = asked(requirements=needs).devices
    assert (ask.kind, ask.count, ask.selector) == ("gpu", 1, Selector((Expression("gpuModel", "In", ("H100",)),)))


@pytest.mark.req("F104")
def test_a_full_backup_pool_is_not_left() -> None:
    on = Stage(a_job(role="backup", index=1, pool="far")).node("node-a")
    on.fleet.put_node(NodeView(name="node-f", pool="far", tier="local", capacity=Amounts(500, 1), labels=ITS_OWN))
    on.run()
    assert on.said("Unschedulable") == ("True", "NoFit", "no node fits (1 nodes): 1 × fits: 0.5 of 1 vcpu free")


@pytest.mark.req("F119")
def test_a_launch_takes_a_spare_only_where_nothing_else_survives() -> None:
    on = Stage(a_job()).node("spare", spare=Spare()).node("zz-ordinary")
    on.run()
    assert on.job.status.node == "zz-ordinary"
    on = Stage(a_job(requirements={"requiredCapacity": 2})).node("spare", spare=Spare()).node("zz-ordinary", vcpu=1)
    on.run()
    assert on.job.status.node == "spare"


RESERVED = Spare(("live",), exclusive=True)


@pytest.mark.req("F122")
@pytest.mark.parametrize(("template", "node"), [("live", "spare"), ("vod", None), (None, None)])
def test_a_spare_reserved_for_others_is_none_for_this_job(template: str | None, node: str | None) -> None:
    on = Stage(a_job(**({"template": template} if template else {}))).node("spare", spare=RESERVED)
    on.run()
    assert on.job.status.node == node


@pytest.mark.req("F123")
def test_the_override_lifts_the_reservation_and_nothing_else() -> None:
    """Other filters hold, and a launch still prefers what is no spare."""
    on = Stage(a_job(overrideReservation=True)).node("spare", spare=RESERVED)
    on.run()
    assert on.job.status.node == "spare"
    on = Stage(a_job(overrideReservation=True)).node("spare", spare=RESERVED).node("zz-ordinary")
    on.run()
    assert on.job.status.node == "zz-ordinary"
    on = Stage(a_job(overrideReservation=True, requirements={"requiredCapacity": 5})).node("spare", spare=RESERVED)
    on.run()
    assert on.job.status.node is None


@pytest.mark.req("FA18")
def test_one_member_that_wants_the_node_for_itself_holds_it_for_its_group() -> None:
    """Its peers need not say so, and may differ in singleUse."""
    entries = [
        a_job_entry("web", exclusive=True, singleUse=True, coLocateWith=["log"]),
        a_job_entry("log"),
    ]
    made = expand("ch", BundleSpec.model_validate(a_bundle(*entries)), {})
    refs = {one.key.job: Mate(Ref("job", one.key.wire, "default"), one.spec) for one in made}
    for name, other in (("web", "log"), ("log", "web")):
        assert request_for(refs[name].ref, refs[name].spec, [refs[other]], FleetView()).exclusive
    assert [one.spec.single_use for one in made] == [True, False]


@pytest.mark.req("P56")
def test_every_job_asks_for_the_driver_that_starts_it() -> None:
    assert asked().labels == COMMAND
    container = {"rmctl/driver.container": "*"}
    assert asked(command=None, image="registry/encoder:1").labels == container
    both = [mate("ch.primary.b", image="registry/encoder:1")]
    assert asked(both, coLocateWith=["b"]).labels == COMMAND | container


@pytest.mark.req("P57")
def test_a_node_without_the_driver_is_passed_over_and_the_sentence_names_the_label() -> None:
    on = Stage(a_job(image="registry/encoder:1")).node("node-a")
    on.run()
    said = "no node fits (1 nodes): 1 × labels: rmctl/driver.container"
    assert on.said("Unschedulable") == ("True", "NoFit", said)
    on.node("node-b", labels={"rmctl/driver.container": ("27", "system")})
    on.now += 60
    on.run()
    assert on.job.status.node == "node-b"
