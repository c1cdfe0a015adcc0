"""What a pool's manifest may say, what it means where it says nothing, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controllers.placing import policy_of
from placement import Amounts, FleetView, PoolPolicy, Provision, Unschedulable, plan
from resources.pool import MigrationDeadlines, PoolSpec
from resources.validation import FieldError, Invalid, parse
from tests.builders import a_pool
from tests.placement_worlds import a_fleet, a_node, a_request

SHAPE = {"instanceType": "m5.xlarge", "totalCapacity": 4, "totalCores": 4}
FIXED = {"name": "racks", "kind": "local-servers", "scaleOut": "fixed"}


def a_tier(**fields: Any) -> dict[str, Any]:
    return {"name": "cloud", "kind": "aws", "scaleOut": "elastic", "candidateInstanceTypes": [SHAPE], **fields}


def pool(*tiers: dict[str, Any], **fields: Any) -> PoolSpec:
    return parse(PoolSpec, a_pool(**({"tiers": list(tiers)} if tiers else {}), **fields))


def launching(*tiers: dict[str, Any]) -> PoolPolicy:
    """The policy of such a pool as it is once machines are launched."""
    return replace(policy_of(pool(*tiers)), provisioning=True)


def problems(*tiers: Any, **fields: Any) -> dict[str, str]:
    """Message by path."""
    return {error.path: error.message for error in _errors(*tiers, **fields)}


def codes(*tiers: Any, **fields: Any) -> dict[str, str]:
    return {error.path: error.code for error in _errors(*tiers, **fields)}


def _errors(*tiers: Any, **fields: Any) -> tuple[FieldError, ...]:
    with pytest.raises(Invalid) as caught:
        pool(*tiers, **fields)
    return caught.value.errors


@pytest.mark.parametrize(
    ("field", "allowed", "default"),
    [
        pytest.param("kind", ("aws", "oci"), None, marks=pytest.mark.req("F5")),
        pytest.param("packingStrategy", ("binpack", "spread"), "binpack", marks=pytest.mark.req("F7")),
        pytest.param("launchMode", ("on-demand", "spot", "reserved"), "on-demand", marks=pytest.mark.req("F12")),
        pytest.param("reliability", ("durable", "interruptible"), None, marks=pytest.mark.req("F13")),
    ],
)
def test_a_field_of_a_tier_takes_these_words_and_no_other(
    field: str, allowed: tuple[str, ...], default: str | None
) -> None:
    for word in allowed:
        assert pool(a_tier(**{field: word})).tiers[0].model_dump(by_alias=True)[field] == word
    if field != "kind":
        assert pool(a_tier()).tiers[0].model_dump(by_alias=True)[field] == default
    assert "is not one of" in problems(a_tier(**{field: "other"}))[f"spec.tiers[0].{field}"]


@pytest.mark.req("F5", "F8", "F10")
def test_own_servers_are_fixed_and_nothing_is_launched_for_them() -> None:
    assert plan(a_request(ask=1), FleetView(), launching(FIXED)).answer == Unschedulable(
        "the pool has no nodes", "noCapacityInAnyPool"
    )
    assert "scaleOut" in next(iter(problems({**FIXED, "scaleOut": "elastic", "candidateInstanceTypes": [SHAPE]})))
    assert "is not one of" in problems({**FIXED, "scaleOut": "sometimes"})["spec.tiers[0].scaleOut"]


@pytest.mark.req("F6")
def test_a_tier_needs_no_region() -> None:
    assert (pool(a_tier()).tiers[0].region, pool(a_tier(region="eu-west-1")).tiers[0].region) == (None, "eu-west-1")


@pytest.mark.req("F9", "F31")
def test_what_an_elastic_tier_launches_is_one_of_its_types_with_what_that_offers() -> None:
    small = {"instanceType": "m5.large", "totalCapacity": 2, "totalCores": 2}
    encoder = {**SHAPE, "capabilities": ["nvenc"], "memoryMiB": 16384}
    answer = plan(a_request(ask=3), FleetView(), launching(a_tier(candidateInstanceTypes=[small, encoder]))).answer
    assert isinstance(answer, Provision)
    assert (answer.shape.instance_type, answer.shape.capacity) == ("m5.xlarge", Amounts(4000, 4, 16384))
    assert problems(a_tier(candidateInstanceTypes=[])) == {
        "spec.tiers[0].candidateInstanceTypes": "an elastic tier needs at least one"
    }
    assert problems(a_tier(candidateInstanceTypes=[{"instanceType": "m5.large"}])) == {
        "spec.tiers[0].candidateInstanceTypes[0].totalCapacity": "required",
        "spec.tiers[0].candidateInstanceTypes[0].totalCores": "required",
    }


@pytest.mark.req("F11", "F1")
def test_a_second_fixed_tier_is_refused_by_name() -> None:
    told = problems(FIXED, {**FIXED, "name": "more"})
    assert told == {"spec.tiers[1].scaleOut": "at most one fixed tier, and tiers[0] is one"}
    assert codes(FIXED, {**FIXED, "name": "more"}) == {"spec.tiers[1].scaleOut": "severalFixedTiers"}


@pytest.mark.req("F14", "F15", "F16")
@pytest.mark.parametrize(
    ("fields", "durable"),
    [
        ({"launchMode": "spot"}, False),
        ({"launchMode": "on-demand"}, True),
        ({"launchMode": "reserved"}, True),
        ({}, True),
        ({"launchMode": "spot", "reliability": "durable"}, True),
        ({"reliability": "interruptible"}, False),
    ],
)
def test_a_tier_is_durable_unless_it_is_spot_or_says_so(fields: dict[str, str], durable: bool) -> None:
    assert pool(a_tier(**fields)).tiers[0].durable is durable
    assert pool(FIXED).tiers[0].durable


@pytest.mark.req("F17", "F18", "F19")
@pytest.mark.parametrize(
    ("most", "nodes", "tier"), [(2, 1, "cloud"), (2, 2, "later"), (None, 40, "cloud"), (0, 0, "later")]
)
def test_a_tier_at_its_most_nodes_leaves_it_to_the_next(most: int | None, nodes: int, tier: str) -> None:
    """Prospective, cordoned and spare nodes count like others."""
    limit = {} if most is None else {"maxNodes": most}
    policy = launching(a_tier(**limit), a_tier(name="later"))
    kinds = ({"booted": False}, {"no_schedule": ("cordoned",)}, {})
    fleet = a_fleet(*(a_node(f"n{n}", tier="cloud", cloud="aws", has=0.5, **kinds[n % 3]) for n in range(nodes)))
    answer = plan(a_request(ask=3), fleet, policy).answer
    assert isinstance(answer, Provision)
    assert answer.tier == tier


@pytest.mark.req("F20", "F21")
def test_a_root_volume_is_for_aws_only() -> None:
    volume = {"sizeGiB": 100, "type": "gp3", "iops": 3000}
    assert pool(a_tier(rootVolume=volume)).tiers[0].root_volume is not None
    for other in (a_tier(kind="oci", rootVolume=volume), {**FIXED, "rootVolume": volume}):
        assert problems(other) == {"spec.tiers[0].rootVolume": "only for tiers of kind aws"}


def test_a_machine_is_for_elastic_tiers_only() -> None:
    assert pool(a_tier(machine={"image": "ami-1"})).tiers[0].machine is not None
    assert list(problems({**FIXED, "machine": {"image": "ami-1"}})) == ["spec.tiers[0].machine"]


@pytest.mark.req("F22", "F23", "FA42")
def test_the_lead_is_five_minutes_in_a_cloud_and_none_at_home_and_the_pools_is_the_largest() -> None:
    assert pool(a_tier()).tiers[0].lead_seconds == 300
    assert pool(FIXED).lead_seconds == 0
    assert pool(FIXED, a_tier(), a_tier(name="slow", placementLeadMs=600_000)).lead_seconds == 600


@pytest.mark.req("F26")
@pytest.mark.parametrize(
    ("fields", "timeout", "grace"),
    [
        ({}, 600, 900),
        ({"placementLeadMs": 600_000}, 1200, 1500),
        ({"placementLeadMs": 1000}, 600, 900),
        ({"provisionTimeoutMs": 30_000}, 30, 330),
        ({"provisionTimeoutMs": 30_000, "startupGraceMs": 60_000}, 30, 60),
    ],
)
def test_a_machine_has_twice_the_lead_to_come_up_and_five_minutes_more_until_it_is_given_up(
    fields: dict[str, int], timeout: float, grace: float
) -> None:
    tier = pool(a_tier(**fields)).tiers[0]
    assert (tier.provision_timeout_seconds, tier.startup_grace_seconds) == (timeout, grace)


@pytest.mark.req("F34", "F425", "F1")
def test_a_tier_name_used_twice_has_its_code() -> None:
    assert codes(FIXED, a_tier(), a_tier()) == {"spec.tiers[2].name": "duplicateTier"}


@pytest.mark.req("F40", "F41", "F44", "F45", "F46", "F47")
def test_a_pool_that_says_nothing_has_the_documented_rules() -> None:
    spec = pool()
    assert spec.max_restarts_per_hour == 6
    assert spec.failure_policies.model_dump(by_alias=True) == {
        "preferSpare": {"maxRestartsPerHour": None},
        "avoidSpare": {"maxRestartsPerHour": None},
    }
    assert spec.health.model_dump(by_alias=True) == {
        "rejectionEscalationCount": 3,
        "rejectionBackoffMs": 5000,
        "unhealthyCooldownMs": 600_000,
        "deviceStableMs": 60_000,
    }
    assert spec.migration == MigrationDeadlines(
        placing_ms=30_000,
        preparing_ms=600_000,
        awaiting_target_ms=120_000,
        cutover_ms=30_000,
        starting_target_ms=120_000,
    )
    assert pool(migration={"placingMs": 5}).migration.placing_ms == 5


@pytest.mark.req("F42")
def test_there_is_no_ceiling_for_what_is_dropped() -> None:
    told = problems(failurePolicies={"drop": {"maxRestartsPerHour": 1}})
    assert told == {"spec.failurePolicies.drop": "unknown field spec.failurePolicies.drop"}


@pytest.mark.req("F48", "F1")
def test_every_problem_is_told_at_once_also_those_between_the_fields() -> None:
    told = problems(
        {**FIXED, "rootVolume": {"sizeGiB": 1}},
        a_tier(kind="gcp"),
        a_tier(maxNodes=-1),
        {**FIXED, "name": "cloud"},
        maxRestartsPerHour="six",
        disconnect={"silentSeconds": 60, "lostSeconds": 30},
    )
    assert sorted(told) == [
        "spec.disconnect.lostSeconds",
        "spec.maxRestartsPerHour",
        "spec.tiers[0].rootVolume",
        "spec.tiers[1].kind",
        "spec.tiers[2].maxNodes",
        "spec.tiers[2].name",
        "spec.tiers[3].name",
        "spec.tiers[3].scaleOut",
    ]


@pytest.mark.parametrize(
    ("levels", "path", "said"),
    [
        ([], "spec.ranking.levels", "at least one level is needed"),
        ([[]], "spec.ranking.levels[0]", "at least one criterion is needed"),
        ([["packing"], {}], "spec.ranking.levels[1]", "at least one criterion is needed"),
        ([{"packing": 0.0001}], "spec.ranking.levels[0].packing", "must be between 0.001 and 1000000"),
        ([{"packing": -1}], "spec.ranking.levels[0].packing", "must be between 0.001 and 1000000"),
        ([{"packing": 1e300}], "spec.ranking.levels[0].packing", "must be between 0.001 and 1000000"),
        ([["packing", "packing"]], "spec.ranking.levels[0]", '"packing" is named twice'),
        ([["packing"], {"packing": 1}], "spec.ranking.levels[1]", '"packing" is named twice'),
    ],
)
def test_a_ranking_that_could_order_nothing_is_refused(levels: Any, path: str, said: str) -> None:
    assert problems(ranking={"levels": levels}) == {path: said}
