"""A bundle: which jobs it makes, how a change reaches them, and what it says of the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controllers.bundle import JOBS_FINALIZER
from controllers.runtime.decision import Apply, Delete
from resources.bundle import BundleSpec
from resources.job import JobSpec, Restarts
from resources.reference import Ref
from resources.template import TemplateSpec
from tests.builders import a_job_entry
from tests.controllers_bundle import CEILING, NOW, BundleStage


@pytest.mark.req("F53", "F55")
def test_its_jobs_are_made_once() -> None:
    on = BundleStage.of(resiliencePolicy={})
    decision = on.run()
    assert on.written(decision) == ["ch.primary.web", "ch.backup.web"]
    child = decision.children[0]
    assert isinstance(child, Apply)
    assert child.finalizers == ("rmctl/instance",)
    assert child.spec["historyGeneration"] == 1
    assert "active" not in child.spec
    assert decision.finalizers == (JOBS_FINALIZER,)
    assert [e.type for e in decision.events] == ["BundleUpdated"]
    assert on.said() == ("False", "Starting", "0 of 2 jobs run")
    decision = on.run()
    assert (decision.children, decision.finalizers, decision.events) == ((), None, ())


def test_it_is_ready_when_all_of_its_jobs_are() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b"), resiliencePolicy={}).up()
    status = on.bundle.status
    assert on.said() == ("True", "AllRunning", "4 of 4 jobs run")
    assert on.said("Available") == ("True", "PrimaryRunning", "the primary copy runs")
    assert on.said("Stalled") is None
    assert (status.state, status.replica_count, status.jobs.total, status.jobs.running) == ("live", 2, 4, 4)
    assert (status.rollout.phase, status.rollout.updated, status.rollout.total) == ("idle", 4, 4)


def test_zones_and_restarts_are_told_beside_the_count() -> None:
    on = BundleStage.of(resiliencePolicy={}).up()
    on.job("ch.primary.web", zone="zone-b", restarts=Restarts(last_hour=2)).job("ch.backup.web", zone="zone-c").run()
    assert on.said() == (
        "True",
        "AllRunning",
        "2 of 2 jobs run; 2 restarts in the last hour; primary zone-b, backup zone-c",
    )


@pytest.mark.parametrize(
    ("phase", "ready", "said"),
    [
        ("starting", (False, "Starting"), ("False", "Starting", "0 of 1 job runs")),
        ("pending", (False, "NoFit"), ("False", "NoFit", "0 of 1 job runs, 1 waits")),
        ("backoff", (False, "Recovering"), ("False", "Recovering", "0 of 1 job runs")),
        ("running", (False, "NotReady"), ("False", "Recovering", "0 of 1 job runs")),
        ("backoff", (False, "CrashLooping"), ("False", "CrashLooping", "0 of 1 job runs")),
        ("running", (None, "NodeSilent"), ("Unknown", "NodeSilent", "0 of 1 job runs")),
        ("dormant", (True, "Dormant"), ("True", "Dormant", "is dormant: rmctl start ch/primary/web")),
        ("completed", (True, "Completed"), ("True", "Completed", "its job completed")),
    ],
)
def test_the_gravest_of_its_jobs_names_its_state(
    phase: str, ready: tuple[bool | None, str], said: tuple[str, str, str]
) -> None:
    on = BundleStage.of()
    on.run()
    on.job("ch.primary.web", phase, ready).run()
    assert on.said() == said


def test_one_exit_from_the_ceiling_it_says_so() -> None:
    on = BundleStage.of()
    on.run()
    made = Restarts(last_hour=5, ceiling=6)
    on.job("ch.primary.web", "backoff", (False, "CrashLooping"), restarts=made, owes_restart=True).run()
    assert on.said() == ("False", "CrashLooping", "0 of 1 job runs; one more exit breaks it")


@pytest.mark.parametrize(
    ("primary", "backup", "said"),
    [
        (("running", (True, "Running")), ("backoff", (False, "Recovering")), ("True", "PrimaryRunning")),
        (("backoff", (False, "Recovering")), ("running", (True, "Running")), ("True", "BackupRunning")),
        (("backoff", (False, "Recovering")), ("pending", (False, "NoFit")), ("False", "NoCopyRunning")),
        (("running", (None, "NodeSilent")), ("pending", (False, "NoFit")), ("Unknown", "NoCopyRunning")),
        (("dormant", (True, "Dormant")), ("dormant", (True, "Dormant")), None),
    ],
)
def test_available_is_one_whole_copy(primary: Any, backup: Any, said: tuple[str, str] | None) -> None:
    on = BundleStage.of(resiliencePolicy={})
    on.run()
    on.job("ch.primary.web", *primary).job("ch.backup.web", *backup).run()
    found = on.said("Available")
    assert (None if found is None else found[:2]) == said


def test_a_job_that_need_not_run_does_not_make_a_copy_incomplete() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b", requirements={"essential": False}))
    on.run()
    on.job("ch.primary.a").job("ch.primary.b", "backoff", (False, "Recovering")).run()
    assert on.said("Available") == ("True", "PrimaryRunning", "the primary copy runs")


@pytest.mark.req("F139", "F142", "F143")
def test_an_essential_job_past_its_ceiling_breaks_the_bundle_and_stops_all_placing() -> None:
    on = BundleStage.of(resiliencePolicy={}).up()
    on.given_up("ch.primary.web", CEILING)
    decision = on.run()
    assert [(e.type, e.severity, e.message) for e in decision.events] == [
        ("BundleBroken", "Warning", f"ch/primary/web: {CEILING}")
    ]
    broken = on.bundle.status.broken
    assert broken is not None
    assert (on.bundle.status.state, broken.job, broken.since) == ("broken", "ch/primary/web", NOW)
    assert {name: job.spec.placing_stopped for name, job in on.jobs.items()} == {
        "ch.primary.web": True,
        "ch.backup.web": True,
    }
    words = CEILING.partition(": ")[2]
    assert on.said() == ("False", "Broken", f"is broken by ch/primary/web: {words}")
    cure = "Mend the cause, then apply a changed spec or rmctl restart bundle/ch"
    assert on.said("Stalled") == ("True", "RestartCeiling", f"ch/primary/web: {words}. {cure}")
    assert on.said("Available") == ("True", "BackupRunning", "the backup copy runs")


def test_a_broken_bundle_stays_so_whoever_passes_first() -> None:
    """The jobs learn of it one by one; the mark must not flicker meanwhile."""
    on = BundleStage.of(resiliencePolicy={}).up()
    on.given_up("ch.primary.web", CEILING)
    on.run()
    assert (on.run().children, on.bundle.status.state) == ((), "broken")
    on.seen()
    on.now += 5
    decision = on.run()
    assert (decision.children, decision.events) == ((), ())
    assert on.bundle.status.broken is not None
    assert on.bundle.status.broken.since == NOW


@pytest.mark.req("F140", "F141")
@pytest.mark.parametrize(
    ("terminal", "reason"),
    [("Dropped: exit 1; onRuntimeFailure is drop", "JobDropped"), ("InvalidSpec: no such user", "InvalidSpec")],
)
def test_other_ends_of_an_essential_job_break_it_too(terminal: str, reason: str) -> None:
    on = BundleStage.of().up().given_up("ch.primary.web", terminal)
    on.run()
    assert on.bundle.status.state == "broken"
    stalled = on.said("Stalled")
    assert stalled is not None
    assert stalled[1] == reason


@pytest.mark.req("F144", "FA12")
def test_a_job_that_is_not_essential_takes_out_itself_only() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b", requirements={"essential": False})).up()
    on.given_up("ch.primary.b", CEILING)
    decision = on.run()
    assert (on.bundle.status.state, decision.children) == ("live", ())
    assert on.said() == ("False", "JobDropped", "1 of 2 jobs run, 1 dropped; given up: ch/primary/b")
    stalled = on.said("Stalled")
    assert stalled is not None
    assert stalled[:2] == ("True", "JobDropped")


@pytest.mark.req("F56", "F77", "F78")
def test_a_changed_spec_takes_the_mark_back_and_forgives_every_job() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b")).up()
    on.given_up("ch.primary.a", CEILING)
    on.run()
    on.seen().change(priority=1)
    decision = on.run()
    assert (on.bundle.status.state, on.bundle.status.broken) == ("live", None)
    assert on.written(decision) == ["ch.primary.a", "ch.primary.b"]
    for job in on.jobs.values():
        assert (job.spec.placing_stopped, job.spec.history_generation) == (False, 2)


def test_jobs_that_the_spec_no_longer_has_go() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b")).up()
    on.change(a_job_entry("a"))
    decision = on.run()
    assert Delete(Ref("job", "ch.primary.b", "default")) in decision.children
    assert on.bundle.status.jobs.total == 1
    assert on.run().children == ()


@pytest.mark.req("F76")
def test_a_policy_added_makes_the_backup_and_one_removed_takes_it_away() -> None:
    on = BundleStage.of().up()
    on.change(resiliencePolicy={}).run()
    assert sorted(on.jobs) == ["ch.backup.web", "ch.primary.web"]
    assert on.bundle.status.replica_count == 2
    document = {key: value for key, value in on.bundle.document.items() if key != "resiliencePolicy"}
    spec = BundleSpec.model_validate(document)
    on.bundle = replace(on.bundle, document=document, spec=spec, generation=3)
    assert Delete(Ref("job", "ch.backup.web", "default")) in on.run().children


@pytest.mark.req("F61")
def test_a_start_of_one_copys_job_leaves_the_others_dormant() -> None:
    on = BundleStage.of(a_job_entry(startMode="manual"), resiliencePolicy={})
    on.run()
    on.all("dormant", (True, "Dormant")).run()
    job = on.jobs["ch.primary.web"]
    document = {**job.document, "active": True}
    on.jobs["ch.primary.web"] = replace(job, document=document, spec=JobSpec.model_validate(document), generation=2)
    assert (on.run().children, on.said()) == ((), ("False", "Starting", "0 of 2 jobs run, 2 dormant"))
    assert [on.jobs[f"ch.{role}.web"].spec.active for role in ("primary", "backup")] == [True, False]


def test_what_the_verbs_wrote_is_left_alone() -> None:
    on = BundleStage.of().up()
    job = on.jobs["ch.primary.web"]
    document = {**job.document, "active": False, "restartedAt": "2026-01-01T00:00:00Z"}
    on.jobs["ch.primary.web"] = replace(job, document=document, spec=JobSpec.model_validate(document), generation=2)
    on.job("ch.primary.web")
    assert on.run().children == ()
    on.change(priority=2).run()
    spec = on.jobs["ch.primary.web"].spec
    assert (spec.active, spec.restarted_at, spec.priority) == (False, 1767225600.0, 2)


def test_a_restart_of_the_bundle_reaches_every_job_that_was_not_restarted_later() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b")).up()
    later = "2026-02-01T00:00:00Z"
    job = on.jobs["ch.primary.b"]
    document = {**job.document, "restartedAt": later}
    on.jobs["ch.primary.b"] = replace(job, document=document, spec=JobSpec.model_validate(document))
    on.change(restartedAt="2026-01-01T00:00:00Z").run()
    assert [on.jobs[f"ch.primary.{n}"].document["restartedAt"] for n in "ab"] == ["2026-01-01T00:00:00Z", later]


def test_a_template_that_is_gone_leaves_what_runs_and_says_so() -> None:
    entry = {"jobName": "web", "requirements": a_job_entry()["requirements"]}
    on = BundleStage.of(entry)
    on.templates["web"] = TemplateSpec.model_validate({"command": ["serve"]})
    on.up()
    on.templates.clear()
    decision = on.run()
    assert decision.children == ()
    problem = 'spec.jobs[0].command: required (no template "web" gives one)'
    assert on.said() == ("False", "RollingOut", f"cannot be worked out: {problem}")
    assert on.said("Stalled") == ("True", "InvalidSpec", problem)
    assert on.said("Available") == ("True", "PrimaryRunning", "the primary copy runs")


def test_a_changed_template_reaches_the_jobs_made_from_it() -> None:
    entry = {"jobName": "web", "requirements": a_job_entry()["requirements"]}
    on = BundleStage.of(entry)
    on.templates["web"] = TemplateSpec.model_validate({"command": ["serve"]})
    on.up()
    on.templates["web"] = TemplateSpec.model_validate({"command": ["serve", "more"]})
    assert on.written(on.run()) == ["ch.primary.web"]
