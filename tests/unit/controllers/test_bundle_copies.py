"""Two copies that stand too close, and a bundle that goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.bundle import JOBS_FINALIZER
from controllers.bundles.view import Domain
from controllers.runtime.decision import Delete
from tests.builders import a_job_entry
from tests.controllers_bundle import NOW, BundleStage


def domain(node: str, zone: str = "", cloud: str = "local-servers", *, durable: bool = True) -> Domain:
    return Domain(node, zone, cloud, durable)


ALL = {"sameNode": "forbid", "sameAz": "forbid", "sameCloud": "forbid"}


@pytest.mark.req("F110", "F111", "FA51", "FA52")
@pytest.mark.parametrize(
    ("policy", "primary", "backup", "reasons"),
    [
        ({"sameNode": "forbid"}, domain("a", "z"), domain("a", "z"), "SameNode"),
        ({"sameAz": "forbid"}, domain("a", "z"), domain("b", "z"), "SameAz"),
        (ALL, domain("a", "z"), domain("a", "z"), "SameNode SameAz SameCloud"),
        ({"sameAz": "forbid"}, domain("a"), domain("b"), None),
        ({}, domain("a", "z"), domain("a", "z"), None),
        ({}, domain("a", durable=False), domain("b", durable=False), "InterruptiblePrimary"),
        ({}, domain("a", durable=False), domain("b"), None),
    ],
)  # fmt: skip
def test_copies_that_stand_too_close_are_told(
    policy: dict[str, str], primary: Domain, backup: Domain, reasons: str | None
) -> None:
    on = BundleStage.of(resiliencePolicy=policy)
    on.run()
    on.domains = {primary.node: primary, backup.node: backup}
    on.job("ch.primary.web", node=primary.node).job("ch.backup.web", node=backup.node)
    decision = on.run()
    found = on.said("ResilienceDegraded")
    told = None if found is None else " ".join(part.partition(":")[0] for part in found[2].split("; "))
    assert told == reasons
    assert [e.type for e in decision.events] == ([] if reasons is None else ["ResilienceDegraded"])
    assert on.run().events == ()


@pytest.mark.req("FA12")
def test_it_is_taken_back_once_the_copies_stand_apart() -> None:
    on = BundleStage.of(resiliencePolicy={"sameNode": "forbid"})
    on.run()
    on.domains = {"a": domain("a"), "b": domain("b")}
    on.all(node="a").run()
    assert on.said("ResilienceDegraded") == ("True", "SameNode", "SameNode: both copies are in node a")
    on.job("ch.backup.web", node="b").run()
    assert on.said("ResilienceDegraded") == ("False", "Compliant", "both copies stand as the policy asks")


def test_a_backup_that_does_not_run_is_told_once_it_has_been_looked_after() -> None:
    on = BundleStage.of(resiliencePolicy={})
    on.run()
    on.domains = {"a": domain("a")}
    on.job("ch.primary.web", node="a").run()
    assert on.said("ResilienceDegraded") is None
    on.job("ch.backup.web", "pending", (False, "NoFit"), plans=1).run()
    assert on.said("ResilienceDegraded") == ("True", "BackupNotRunning", "BackupNotRunning: web")


@pytest.mark.req("F57", "T13")
def test_deleting_asks_every_job_to_go_and_waits_for_the_last() -> None:
    on = BundleStage.of(a_job_entry("a"), a_job_entry("b")).up()
    on.bundle = replace(on.bundle, deletion_timestamp=NOW)
    decision = on.run()
    assert [type(c) for c in decision.children] == [Delete, Delete]
    assert on.said() == ("False", "Deleting", "is being deleted: 2 jobs to end")
    assert on.bundle.status.state == "deleting"
    assert (on.run().children, on.bundle.finalizers) == ((), (JOBS_FINALIZER,))
    on.jobs.clear()
    decision = on.run()
    assert (on.bundle.finalizers, [e.type for e in decision.events]) == ((), ["BundleDeleted"])


@pytest.mark.req("FA48")
def test_revived_it_waits_for_dying_jobs_and_makes_them_again() -> None:
    on = BundleStage.of().up()
    on.bundle = replace(on.bundle, deletion_timestamp=NOW)
    on.run()
    on.bundle = replace(on.bundle, deletion_timestamp=None)
    on.change(priority=1)
    assert on.run().children == ()
    on.jobs.clear()
    assert on.written(on.run()) == ["ch.primary.web"]
