"""Whether the two copies stand as far apart as the policy asks, and whether both stand at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from controllers.bundles.view import Domain
from resources import conditions
from resources.bundle import Bundle, ResiliencePolicy
from resources.conditions import Condition, condition
from resources.job import Job

DOWN = ("backoff", "dropped")
"""Phases in which a backup job that should run does not, and is not about to."""


def verdict(bundle: Bundle, jobs: Sequence[Job], domains: Mapping[str, Domain]) -> Condition | None:
    """None without a policy, and as long as nothing was ever wrong."""
    policy = bundle.spec.resilience_policy
    if policy is None:
        return None
    found = list(_violations(policy, jobs, domains))
    if found:
        reasons = [reason for reason, _ in found]
        return condition("ResilienceDegraded", True, reasons[0], "; ".join(text for _, text in found))
    if conditions.find(bundle.status.conditions, "ResilienceDegraded") is None:
        return None
    return condition("ResilienceDegraded", False, "Compliant", "both copies stand as the policy asks")


def _violations(
    policy: ResiliencePolicy, jobs: Sequence[Job], domains: Mapping[str, Domain]
) -> Iterator[tuple[str, str]]:
    primary, backup = (_stands(jobs, role, domains) for role in ("primary", "backup"))
    shared = {
        "SameNode": (policy.same_node, {d.node for d in primary} & {d.node for d in backup}, "node"),
        "SameAz": (policy.same_az, {d.zone for d in primary} & {d.zone for d in backup} - {""}, "zone"),
        "SameCloud": (policy.same_cloud, {d.cloud for d in primary} & {d.cloud for d in backup} - {""}, "cloud"),
    }
    for reason, (flag, common, what) in shared.items():
        if flag == "forbid" and common:
            yield reason, f"{reason}: both copies are in {what} {', '.join(sorted(common))}"
    if any(not d.durable for d in primary) and not (backup and all(d.durable for d in backup)):
        where = ", ".join(sorted(d.node for d in primary if not d.durable))
        yield "InterruptiblePrimary", f"InterruptiblePrimary: {where} may be taken back, and no durable backup runs"
    down = sorted(job.spec.job_name for job in jobs if job.spec.role == "backup" and _down(job))
    if down and primary:
        yield "BackupNotRunning", f"BackupNotRunning: {', '.join(down)}"


def _stands(jobs: Sequence[Job], role: str, domains: Mapping[str, Domain]) -> list[Domain]:
    nodes = {job.status.node for job in jobs if job.spec.role == role and job.status.phase in ("starting", "running")}
    return [domains[name] for name in sorted(n for n in nodes if n) if name in domains]


def _down(job: Job) -> bool:
    """A first plan that is still to come is no failure."""
    waits = job.status.phase == "pending" and (job.status.plans > 0 or job.status.ever_ran)
    return job.spec.active and not job.deleting and (job.status.phase in DOWN or waits)
