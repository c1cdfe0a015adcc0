"""What a bundle's manifest may say, and what it means where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from resources.bundle import BundleSpec
from resources.job_entry import Requirements
from resources.reservation import ReservationSpec
from resources.validation import Invalid, parse
from tests.builders import a_bundle, a_job_entry


def spec(*entries: dict[str, Any], **fields: Any) -> BundleSpec:
    return parse(BundleSpec, a_bundle(*entries, **fields))


def problem(*entries: dict[str, Any], **fields: Any) -> str:
    with pytest.raises(Invalid) as caught:
        spec(*entries, **fields)
    return "; ".join(f"{error.path}: {error.message}" for error in caught.value.errors)


@pytest.mark.req("F51", "F52")
def test_the_number_of_copies_follows_from_the_policy_and_cannot_be_given() -> None:
    assert (spec().replica_count, spec(resiliencePolicy={}).replica_count) == (1, 2)
    assert problem(replicaCount=2).endswith("unknown field spec.replicaCount")


@pytest.mark.req("F58", "F65", "F66")
@pytest.mark.parametrize(
    ("given", "mode"), [({}, "auto"), ({"startMode": "auto"}, "auto"), ({"startMode": "manual"}, "manual")]
)
def test_a_job_starts_by_itself_unless_it_says_otherwise(given: dict[str, str], mode: str) -> None:
    entry = spec(a_job_entry(**given)).jobs[0]
    assert entry.start_mode == mode
    written = entry.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert spec(written).jobs[0] == entry


@pytest.mark.req("F71", "FA62")
@pytest.mark.parametrize("policy", ["preferSpare", "avoidSpare", "drop"])
def test_a_job_says_what_its_failure_means(policy: str) -> None:
    assert (
        spec(a_job_entry(requirements={"onRuntimeFailure": policy})).jobs[0].requirements.on_runtime_failure == policy
    )


@pytest.mark.req("F71")
def test_another_policy_is_refused_with_the_choices() -> None:
    told = problem(a_job_entry(requirements={"onRuntimeFailure": "restart"}))
    assert '"restart" is not one of preferSpare, avoidSpare, drop' in told


@pytest.mark.req("F97", "F353")
def test_single_use_needs_exclusive() -> None:
    assert "singleUse: needs exclusive: true" in problem(a_job_entry(singleUse=True)).replace("spec.jobs[0].", "")
    assert spec(a_job_entry(singleUse=True, exclusive=True)).jobs[0].single_use


@pytest.mark.req("F116", "F117")
@pytest.mark.parametrize(("given", "rule"), [({}, "avoidSpare"), ({"onLaunch": "allowSpare"}, "allowSpare")])
def test_the_launch_rule_avoids_spares_by_default(given: dict[str, str], rule: str) -> None:
    assert spec(**given).on_launch == rule


@pytest.mark.req("F116")
def test_another_launch_rule_is_refused() -> None:
    assert '"preferSpare" is not one of avoidSpare, allowSpare' in problem(onLaunch="preferSpare")


@pytest.mark.req("F351", "F355")
def test_names_are_unique_and_rules_name_jobs_that_exist() -> None:
    assert 'jobName "a" is used twice' in problem(a_job_entry("a"), a_job_entry("a"))
    assert 'no job "gone" in this bundle' in problem(a_job_entry("a", coLocateWith=["gone"]))


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ({"requiredCapabilities": [""]}, "requiredCapabilities[0]: must match"),
        ({"requiredCapabilities": ["a b"]}, "requiredCapabilities[0]: must match"),
        ({"requiredGpuModel": "", "requiredGpuCapacity": 0.5}, "requiredGpuModel: must not be empty"),
        ({"requiredGpuModel": "H100"}, "requiredGpuModel: goes with requiredGpuCapacity, or with the capability"),
        ({"requiredMemoryMiB": 2**63 - 1}, "requiredMemoryMiB: must be <= 1073741824"),
        ({"requiredCores": 2**40}, "requiredCores: must be <= 100000"),
    ],
)
def test_what_no_node_could_ever_have_is_refused(needs: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(Requirements, {"requiredCapacity": 1, "onRuntimeFailure": "drop", **needs})
    assert said in "; ".join(f"{error.path}: {error.message}" for error in caught.value.errors)


OUTSIDE = "must lie between 1970-01-01T00:00:00Z and 9999-12-31T00:00:00Z"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("9999-12-31T23:59:59-10:00", OUTSIDE),
        ("0001-01-01T00:00:00+10:00", OUTSIDE),
        ("1969-12-31T23:59:59Z", OUTSIDE),
        (12345, "expected an RFC 3339 time such as 2026-01-31T12:00:00Z"),
        (1e300, "expected an RFC 3339 time such as 2026-01-31T12:00:00Z"),
        (True, "expected an RFC 3339 time such as 2026-01-31T12:00:00Z"),
        ("2026-01-31", "expected an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z"),
    ],
)
def test_a_time_is_written_as_text_and_is_one_that_can_be_printed(value: Any, said: str) -> None:
    assert problem(startDateTime=value) == f"spec.startDateTime: {said}"
    reserved = {"pool": "p", "devices": [{"class": "gpu", "count": 1}]}
    with pytest.raises(Invalid) as caught:
        parse(ReservationSpec, {**reserved, "end": value})
    assert [error.message for error in caught.value.errors] == [said]


@pytest.mark.parametrize(
    "window", [{"durationSeconds": 2**63 - 1}, {"start": "9999-12-30T00:00:00Z", "durationSeconds": 86401}]
)
def test_a_reservation_ends_while_there_are_dates(window: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as caught:
        parse(ReservationSpec, {"pool": "p", "devices": [{"class": "gpu", "count": 1}], **window})
    assert [error.path for error in caught.value.errors] == ["spec.durationSeconds"]
