"""A change reaches the backup first, and the primary when the backup is ready."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.builders import a_job_entry
from tests.controllers_bundle import CEILING, BundleStage


def changed(**fields: Any) -> BundleStage:
    on = BundleStage.of(resiliencePolicy={}, **fields).up()
    return on.change(a_job_entry(command=["new"]))


def commands(on: BundleStage) -> dict[str, tuple[str, ...] | None]:
    return {job.spec.role: job.spec.command for job in on.jobs.values()}


NEW, OLD = ("new",), ("sleep", "1000")


def test_the_backup_changes_first_and_the_primary_when_it_is_ready() -> None:
    on = changed()
    on.run()
    assert commands(on) == {"backup": NEW, "primary": OLD}
    assert on.bundle.status.rollout.phase == "backup"
    assert on.said() == ("False", "RollingOut", "0 of 2 jobs run the new spec")
    assert (on.run().children, commands(on)) == ((), {"backup": NEW, "primary": OLD})
    on.seen().job("ch.backup.web")
    on.run()
    assert commands(on) == {"backup": NEW, "primary": NEW}
    assert on.bundle.status.rollout.phase == "primary"
    on.job("ch.primary.web").run()
    assert (on.bundle.status.rollout.phase, on.said()) == ("idle", ("True", "AllRunning", "2 of 2 jobs run"))


def test_available_does_not_flicker_while_a_change_goes_round() -> None:
    on = changed()
    for _ in range(3):
        on.run()
        assert on.said("Available") == ("True", "PrimaryRunning", "the primary copy runs")


def test_a_backup_that_is_not_ready_in_time_stops_the_roll_out() -> None:
    on = changed(update={"readyTimeoutSeconds": 60})
    assert on.run().requeue_after == 60
    on.seen().job("ch.backup.web", "starting", (False, "Starting"))
    on.now += 60
    on.run()
    assert (on.bundle.status.rollout.phase, commands(on)["primary"]) == ("stopped", OLD)
    stalled = on.said("Stalled")
    assert stalled is not None
    assert stalled[:2] == ("True", "RolloutFailed")
    assert stalled[2].startswith("the backup was not ready within 60 s at the new spec; the primary keeps what it runs")


def test_a_backup_given_up_at_the_new_spec_stops_the_roll_out() -> None:
    on = changed()
    on.run()
    on.seen().given_up("ch.backup.web", CEILING)
    on.run()
    assert (on.bundle.status.rollout.phase, commands(on)["primary"]) == ("stopped", OLD)
    assert on.bundle.status.state == "broken"
    on.seen().change(a_job_entry(command=["newer"]))
    on.run()
    assert (on.bundle.status.rollout.phase, on.bundle.status.state) == ("backup", "live")
    assert commands(on) == {"backup": ("newer",), "primary": OLD}


def test_all_at_once_is_all_at_once() -> None:
    on = changed(update={"strategy": "allAtOnce"})
    on.run()
    assert (commands(on), on.bundle.status.rollout.phase) == ({"backup": NEW, "primary": NEW}, "all")


def test_a_primary_that_is_down_is_not_held_back() -> None:
    on = changed()
    on.job("ch.primary.web", "backoff", (False, "CrashLooping")).run()
    assert commands(on) == {"backup": NEW, "primary": NEW}


def test_a_change_that_restarts_nothing_goes_to_both_at_once() -> None:
    on = BundleStage.of(resiliencePolicy={}).up()
    on.change(a_job_entry(stopGraceSeconds=3)).run()
    assert {job.spec.stop_grace_seconds for job in on.jobs.values()} == {3}
    assert on.bundle.status.rollout.phase == "idle"


def test_a_restart_of_the_bundle_takes_one_copy_at_a_time() -> None:
    on = BundleStage.of(resiliencePolicy={}).up()
    on.change(restartedAt="2026-01-01T00:00:00Z").run()
    assert [on.jobs[name].spec.restarted_at for name in ("ch.backup.web", "ch.primary.web")] == [1767225600.0, None]


def test_a_backup_without_a_place_says_so_and_what_would_help() -> None:
    """While it is waited for, and still when the time is over."""
    on = changed(update={"readyTimeoutSeconds": 60})
    on.run()
    unfit = "no node fits (1 node): 1 × fits: 0 of 1 vcpu free"
    on.seen().job("ch.backup.web", "pending", (False, "NoFit"), unfit=unfit)
    on.run()
    cure = "rmctl why job/ch/backup/web tells what would help; update.strategy: allAtOnce waits for no backup"
    why = f"ch/backup/web has no place: {unfit}. {cure}"
    held = f"1 of 2 jobs run, 1 waits; the primary keeps what it runs until the backup is ready: {why}"
    assert on.said() == ("False", "NoFit", held)
    on.now += 60
    on.run()
    stalled = on.said("Stalled")
    assert stalled is not None
    assert stalled[2].startswith(
        f"the backup was not ready within 60 s at the new spec; the primary keeps what it runs: {why}"
    )


def test_a_deletion_that_waits_for_a_silent_node_tells_the_way_out() -> None:
    on = BundleStage.of().up()
    on.bundle = replace(on.bundle, deletion_timestamp=on.now)
    told = "is being deleted: stops on node-a, which is lost; rmctl node lost node-a gives it up"
    on.job("ch.primary.web", "stopping", (False, "Deleting"), message=told)
    on.jobs["ch.primary.web"] = replace(on.jobs["ch.primary.web"], deletion_timestamp=on.now)
    on.run()
    said = on.said()
    assert said is not None
    way_out = "ch/primary/web stops on node-a, which is lost; rmctl node lost node-a gives it up"
    assert said[2] == f"is being deleted: 1 job to end; {way_out}"
