"""What a bundle stands for: its jobs, merged and bound by its rules."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.expansion import expand, restarts, template_names
from controllers.grouping import apart, groups
from controllers.run_fingerprint import run_fingerprint
from resources.bundle import BundleSpec
from resources.job import JobSpec
from resources.template import TemplateSpec
from resources.validation import Invalid
from tests.builders import a_bundle, a_job_entry
from tests.controllers_stage import a_job_spec


def spec(*entries: dict[str, Any], **fields: Any) -> BundleSpec:
    return BundleSpec.model_validate(a_bundle(*entries, **fields))


def jobs(bundle: BundleSpec, **templates: dict[str, Any]) -> dict[str, JobSpec]:
    found = {name: TemplateSpec.model_validate(document) for name, document in templates.items()}
    return {one.key.wire: one.spec for one in expand("ch", bundle, found)}


def problems(bundle: BundleSpec, **templates: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as caught:
        jobs(bundle, **templates)
    return [(error.path, error.message) for error in caught.value.errors]


@pytest.mark.req("F49", "F50", "F51", "F53", "FA44", "FA45")
@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({}, ["ch.primary.a", "ch.primary.b"]),
        ({"resiliencePolicy": {}}, ["ch.primary.a", "ch.primary.b", "ch.backup.a", "ch.backup.b"]),
    ],
)
def test_one_job_a_copy_and_entry(policy: dict[str, Any], names: list[str]) -> None:
    bundle = spec(a_job_entry("a"), a_job_entry("b"), **policy)
    assert list(jobs(bundle)) == names


def test_jobs_carry_labels_and_an_index() -> None:
    made = expand("ch", spec(a_job_entry("a", template="t"), resiliencePolicy={}), {"t": TemplateSpec()})
    assert made[1].labels == {
        "rmctl/bundle": "ch",
        "rmctl/role": "backup",
        "rmctl/job": "a",
        "rmctl/template": "t",
    }
    assert [one.spec.index for one in made] == [0, 1]


@pytest.mark.req("F54", "F102", "F103")
@pytest.mark.parametrize(("own", "backup"), [(None, "local"), ("far", "far")])
def test_each_copy_has_its_pool(own: str | None, backup: str) -> None:
    policy = {} if own is None else {"pool": own}
    made = jobs(spec(resiliencePolicy=policy))
    assert (made["ch.primary.web"].pool, made["ch.backup.web"].pool) == ("local", backup)


@pytest.mark.req("F74", "F75")
def test_overrides_reach_the_backup_alone() -> None:
    entry = a_job_entry(parameters={"rate": 6.5, "name": "x"}, backupParameterOverrides={"rate": 3})
    made = jobs(spec(entry, resiliencePolicy={}))
    assert made["ch.primary.web"].parameters == {"rate": 6.5, "name": "x"}
    assert made["ch.backup.web"].parameters == {"rate": 3, "name": "x"}


@pytest.mark.req("F105", "F106")
def test_forbids_stand_on_the_backup_alone() -> None:
    made = jobs(spec(resiliencePolicy={"sameNode": "forbid"}))
    assert made["ch.primary.web"].forbid.same_node == "allow"
    flags = made["ch.backup.web"].forbid
    assert (flags.same_node, flags.same_az, flags.same_cloud) == ("forbid", "allow", "allow")


@pytest.mark.req("FA12", "F72")
def test_a_policy_can_make_the_backup_not_essential() -> None:
    made = jobs(spec(resiliencePolicy={"essential": False}))
    assert made["ch.primary.web"].requirements.essential
    assert not made["ch.backup.web"].requirements.essential


@pytest.mark.req("F58", "F59")
@pytest.mark.parametrize(
    ("mode", "active"), [({}, True), ({"startMode": "auto"}, True), ({"startMode": "manual"}, False)]
)
def test_the_start_mode_says_whether_a_job_is_active_until_somebody_else_does(
    mode: dict[str, Any], active: bool
) -> None:
    one = expand("ch", spec(a_job_entry(**mode)), {})[0]
    assert (one.spec.active, "active" in one.document) == (active, False)
    assert JobSpec.model_validate({**one.document, "active": not active}).active is not active


def test_a_template_named_like_the_job_gives_defaults() -> None:
    entry = {"jobName": "web", "env": {"B": "mine"}, "requirements": a_job_entry()["requirements"]}
    template = {"command": ["serve"], "env": {"A": "1", "B": "2"}, "parameters": {"p": 1}, "images": ["i:1"]}
    made = jobs(spec(entry), web=template)["ch.primary.web"]
    assert (made.command, made.env, made.parameters) == (("serve",), {"A": "1", "B": "mine"}, {"p": 1})
    assert made.images == ("i:1",)


def test_fields_of_the_entry_win_as_wholes() -> None:
    entry = a_job_entry(parameters={"q": 2})
    template = {"parameters": {"p": 1}, "requirements": {"requiredCores": 3}}
    made = jobs(spec(entry), web=template)["ch.primary.web"]
    assert (made.parameters, made.requirements.required_cores) == ({"q": 2}, 0)


def test_the_names_of_templates_that_are_read() -> None:
    assert template_names(spec(a_job_entry("a"), a_job_entry("b", template="t"))) == ("a", "t")


def test_what_nobody_gives_is_told_with_its_field() -> None:
    entry = {"jobName": "encode", "requirements": {"onRuntimeFailure": "avoidSpare"}}
    assert problems(spec(entry, resiliencePolicy={})) == [
        ("spec.jobs[0].command", 'required (no template "encode" gives one)'),
        ("spec.jobs[0].requirements.requiredCapacity", "required"),
    ]


def test_a_template_that_is_named_must_exist() -> None:
    assert problems(spec(a_job_entry(template="gone"))) == [("spec.jobs[0].template", 'no template "gone"')]


@pytest.mark.req("F79", "F84", "F85")
def test_naming_one_side_binds_both_and_chains() -> None:
    bundle = spec(
        a_job_entry("a", coLocateWith=["b"]), a_job_entry("b", coLocateWith=["c"]), a_job_entry("c"),
        a_job_entry("d", separateFrom=["a"]),
    )  # fmt: skip
    together, separate = groups(bundle), apart(bundle)
    assert together["c"] == {"a", "b", "c"} == together["a"]
    assert (together["d"], separate["a"], separate["d"]) == ({"d"}, {"d"}, {"a"})
    made = jobs(bundle)
    assert made["ch.primary.a"].co_locate_with == ("b", "c")
    assert made["ch.primary.a"].separate_from == ("d",)


@pytest.mark.req("F86", "F87", "F88")
def test_the_default_group_takes_those_that_state_no_rule() -> None:
    entries = [a_job_entry("a"), a_job_entry("b", separateFrom=["a"]), a_job_entry("c")]
    rule = {"intraReplicaPlacement": {"sameNodeDefault": True}}
    assert groups(spec(*entries, **rule)) == {"a": {"a", "c"}, "b": {"b"}, "c": {"a", "c"}}
    assert groups(spec(*entries))["a"] == {"a"}


@pytest.mark.req("F352", "F356")
def test_a_group_that_is_told_to_part_is_told_how_it_hangs_together() -> None:
    bundle = spec(
        a_job_entry("a", coLocateWith=["b"]), a_job_entry("b", coLocateWith=["c"]), a_job_entry("c", separateFrom=["a"])
    )
    assert problems(bundle) == [("spec.jobs[2].separateFrom", '"a" shares a node with this job: c → b → a')]


@pytest.mark.req("F357")
def test_a_group_cannot_want_one_port_twice() -> None:
    ports = {"requirements": {"requiredHostPorts": ["80/tcp"]}}
    bundle = spec(a_job_entry("a", coLocateWith=["b"], **ports), a_job_entry("b", **ports))
    where = "spec.jobs[1].requirements.requiredHostPorts"
    assert problems(bundle) == [(where, '80/tcp is taken by "a", which shares the node')]
    assert len(jobs(spec(a_job_entry("a", **ports), a_job_entry("b", **ports)))) == 2


def test_what_restarts_is_named_before_anything_is_stored() -> None:
    before = spec(a_job_entry("a"), a_job_entry("b"))
    after = spec(a_job_entry("a", command=["other"]), a_job_entry("b", stopGraceSeconds=3), a_job_entry("c"))
    now = [(one.key, one.spec) for one in expand("ch", before, {})]
    assert [key.people for key in restarts(now, expand("ch", after, {}))] == ["ch/primary/a"]


def test_an_apply_takes_back_no_restart_that_a_job_was_asked_for() -> None:
    """It is kept in the job, and the later word of job and bundle counts."""
    asked, later = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    (one,) = expand("ch", spec(a_job_entry("a")), {})
    job = JobSpec.model_validate(one.document | {"restartedAt": asked})
    assert restarts([(one.key, job)], [one]) == ()
    (again,) = expand("ch", spec(a_job_entry("a"), restartedAt=later), {})
    assert restarts([(one.key, job)], [again]) == (again.key,)


@pytest.mark.parametrize(
    "change",
    [
        {"command": ["other"]},
        {"image": "i:2"},
        {"workingDir": "sub"},
        {"env": {"A": "1"}},
        {"secretEnv": {"A": {"secret": "s", "key": "k"}}},
        {"parameters": {"p": 1}},
        {"restartedAt": "2026-01-01T00:00:00Z"},
        {"requirements": {"requiredCapacity": 2}},
        {"requirements": {"requiredHostPorts": ["80/tcp"]}},
        {"requirements": {"requiredCapabilities": ["gpu"]}},
    ],
)
def test_what_an_instance_feels_is_another_run(change: dict[str, Any]) -> None:
    assert run_fingerprint(JobSpec.model_validate(a_job_spec(**change))) != run_fingerprint(
        JobSpec.model_validate(a_job_spec())
    )


@pytest.mark.parametrize(
    "change",
    [
        {"requirements": {"essential": False}},
        {"requirements": {"onRuntimeFailure": "drop"}},
        {"requirements": {"maxRestartsPerHour": 9}},
        {"requirements": {"requiredCores": 0}},
        {"readiness": {"tcp": 80}},
        {"liveness": {"tcp": 80}},
        {"stopGraceSeconds": 3},
        {"startMode": "manual"},
        {"onDisconnect": "hold"},
        {"restartOn": "always"},
        {"coLocateWith": ["other"]},
        {"placingStopped": True},
        {"historyGeneration": 4},
        {"priority": 5},
        {"images": ["i:1"]},
    ],
)
def test_anything_else_is_the_same_run(change: dict[str, Any]) -> None:
    assert run_fingerprint(JobSpec.model_validate(a_job_spec(**change))) == run_fingerprint(
        JobSpec.model_validate(a_job_spec())
    )


def test_a_run_is_recognised_by_every_version() -> None:
    """Another value here restarts every job of every fleet at the upgrade."""
    made = run_fingerprint(JobSpec.model_validate(a_job_spec()))
    assert made == "6de038de00750bb4e7413f753d32adfa813d66f25cd81b81f2165bef129cadc2"
