"""A pull request: its checks are repaired, its approvals awaited, and it is merged at the head that was agreed on."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from rmctl import (
    Condition,
    Context,
    Effect,
    NoWorkflow,
    Rejected,
    Resource,
    Result,
    Run,
    Spec,
    Status,
    condition_false,
    condition_true,
    resource_manager,
)
from rmctl.github import API, GitHub, NotAuthorised, RateLimited, connected


class PullRequestSpec(Spec):
    """Which one, at which head, and what must be true before it is merged."""

    repository: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$")]
    number: Annotated[int, Field(ge=1)]
    expected_head_sha: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    merge_method: Literal["merge", "squash", "rebase"] = "squash"
    require_checks: Literal["all"] | tuple[str, ...] = "all"
    require_approvals: Annotated[int, Field(ge=0, le=100)] = 1
    workflow: str = "repair-pull-request"
    max_repairs: Annotated[int, Field(ge=0, le=100)] = 3
    poll_seconds: Annotated[float, Field(ge=1, le=86_400)] = 30
    credential: str = "GITHUB_TOKEN"


class PullRequestStatus(Status):
    """What was last seen."""

    phase: Literal["observing", "waiting", "repairing", "merging", "merged", "blocked"] = "observing"
    head_sha: str | None = None
    merge_sha: str | None = None
    checks: dict[str, int] = Field(default_factory=dict)
    approvals: int = 0
    repairs: int = 0
    refusals: int = 0
    """Merges that the forge refused for a reason that goes away."""
    repair: dict[str, Any] | None = None
    """What the repair under way was asked for with, whatever the spec says by now."""


PullRequest = Resource[PullRequestSpec, PullRequestStatus]
BLOCKED_SECONDS = 300.0
"""What only a person can help with is looked at this often, should it have been helped."""
PASSING = ("409", "405: Base branch was modified")


@resource_manager("pull-request", spec=PullRequestSpec, status=PullRequestStatus, deadline=120)
async def reconcile(ctx: Context, resource: PullRequest) -> Result:
    spec = resource.spec
    async with connected(os.environ.get(spec.credential), os.environ.get("GITHUB_API_URL", API)) as github:
        try:
            return await step(ctx, resource, github)
        except RateLimited as limit:
            return ctx.requeue_after(limit.after, conditions=[condition_false("Ready", "RateLimited", str(limit))])
        except NotAuthorised as error:
            return blocked(ctx, resource.status, "NotAuthorised", f"the credential may not: {error}")


async def step(ctx: Context, resource: PullRequest, github: GitHub) -> Result:
    """Look at what is, and do the one thing that comes next."""
    spec = resource.spec
    await settle_others(ctx, resource, github)
    if resource.deleting:
        return ctx.settled()
    pull = await github.pull_request(spec.repository, spec.number)
    status = resource.status
    if pull.head_sha != status.head_sha:
        status = status.model_copy(update={"head_sha": pull.head_sha, "repairs": 0, "repair": None})
    if pull.merged:
        if merge_key(resource) in ctx.effects.open:
            await merged(ctx, resource, github)
        done = status.model_copy(update={"phase": "merged", "merge_sha": pull.merge_sha})
        return ctx.settled(done, conditions=[condition_true("Ready", "Merged", f"is merged as {pull.merge_sha[:12]}")])
    if pull.closed:
        return blocked(ctx, status, "Closed", "is closed without a merge")
    if pull.head_sha != spec.expected_head_sha:
        words = f"the head is {pull.head_sha[:12]}, agreed on was {spec.expected_head_sha[:12]}: apply the new one"
        moved = condition_false("HeadValid", "HeadChanged", words)
        return blocked(ctx, status, "HeadChanged", words, moved)
    valid = condition_true("HeadValid", "Matches")
    required = None if spec.require_checks == "all" else spec.require_checks
    checks = await github.checks(spec.repository, pull.head_sha, required)
    counted = {name: len(getattr(checks, name)) for name in ("passed", "failed", "pending")}
    status = status.model_copy(update={"checks": counted})
    if checks.failed:
        return await repaired(ctx, resource, status, f"failed: {', '.join(checks.failed)}", valid)
    if checks.pending:
        return waiting(ctx, resource, status, "ChecksPending", f"waits for {', '.join(checks.pending)}", valid)
    approvals = await github.approvals(spec.repository, spec.number, pull.head_sha)
    status = status.model_copy(update={"approvals": approvals})
    if approvals < spec.require_approvals:
        words = f"has {approvals} of {spec.require_approvals} approvals"
        return waiting(ctx, resource, status, "ApprovalPending", words, valid)
    if pull.mergeable is False:
        return blocked(ctx, status, "Conflict", "cannot be merged as it is: it conflicts", valid)
    merge = await merged(ctx, resource, github)
    passes = merge.error.startswith(PASSING if pull.mergeable else ("409", "405"))
    if merge.state == "rejected" and passes:
        status = status.model_copy(update={"refusals": status.refusals + 1})
        return waiting(ctx, resource, status, "Merging", f"the merge was refused: {merge.error}", valid)
    if merge.state == "rejected":
        return blocked(ctx, status, "MergeRejected", f"the merge was refused: {merge.error}", valid)
    merging = status.model_copy(update={"phase": "merging"})
    return ctx.requeue(merging, conditions=[condition_false("Ready", "Merging", "is being merged"), valid])


async def merged(ctx: Context, resource: PullRequest, github: GitHub) -> Effect:
    """The one merge of this spec, at its head and no other."""
    spec, head = resource.spec, resource.spec.expected_head_sha
    made: Effect = await ctx.effects.ensure(
        key=merge_key(resource),
        kind="github-merge",
        request={"repository": spec.repository, "number": spec.number, "expectedHeadSha": head},
        observe=lambda: github.observe_merge(spec.repository, spec.number),
        apply=lambda: github.merge(spec.repository, spec.number, head, spec.merge_method),
    )
    return made


def merge_key(resource: PullRequest) -> str:
    """Says all that the merge is about, so that it can be asked about after the spec has changed."""
    spec = resource.spec
    where = f"{spec.repository}:{spec.number}:{resource.status.refusals}"
    return f"merge:{resource.metadata.generation}:{spec.expected_head_sha}:{where}"


async def settle_others(ctx: Context, resource: PullRequest, github: GitHub) -> None:
    """Merges that are not wanted any more get their end: what has happened is found, what has not does not."""
    for key in sorted(ctx.effects.open):
        if key != merge_key(resource) or resource.deleting:
            _, _, head, repository, number, _ = key.split(":")
            await ctx.effects.ensure(
                key=key,
                kind="github-merge",
                request={"repository": repository, "number": int(number), "expectedHeadSha": head},
                observe=partial(github.observe_merge, repository, int(number)),
                apply=lambda: Rejected("it is not wanted any more", "cancelled"),
            )


async def repaired(
    ctx: Context, resource: PullRequest, status: PullRequestStatus, failed: str, valid: Condition
) -> Result:
    """A repair under way, the next one, or no more of them."""
    spec, repairs = resource.spec, status.repairs
    if repairs >= spec.max_repairs:
        return blocked(ctx, status, "RepairsExhausted", f"{repairs} repairs did not help; {failed}", valid)
    key = f"repair:{spec.repository}:{spec.number}:{status.head_sha}:{repairs + 1}"
    asked = status.repair
    if asked is None or asked["key"] != key:
        given = {"repository": spec.repository, "number": spec.number, "headSha": status.head_sha}
        asked = {"key": key, "workflow": spec.workflow, "input": {**given, "credential": spec.credential}}
        ctx.event("ChecksFailed", failed, "Warning")
    try:
        run: Run = await ctx.workflows.ensure(**asked)
    except NoWorkflow as error:
        return blocked(ctx, status, "NoWorkflow", f"{error}; {failed}", valid)
    if run.state in ("succeeded", "failed"):
        status = status.model_copy(update={"repairs": repairs + 1, "repair": None})
        return waiting(ctx, resource, status, "ChecksPending", f"repair {repairs + 1} {run.state}; {failed}", valid)
    told: dict[str, Any] = {"phase": "repairing", "repair": asked}
    words = f"repair {repairs + 1} of {spec.max_repairs} is {run.state}; {failed}"
    ready = condition_false("Ready", "Repairing", words)
    return ctx.requeue_after(spec.poll_seconds, status.model_copy(update=told), conditions=[ready, valid])


def waiting(
    ctx: Context, resource: PullRequest, status: PullRequestStatus, reason: str, words: str, valid: Condition
) -> Result:
    told = status.model_copy(update={"phase": "waiting"})
    ready = condition_false("Ready", reason, words)
    return ctx.requeue_after(resource.spec.poll_seconds, told, conditions=[ready, valid])


def blocked(ctx: Context, status: PullRequestStatus, reason: str, words: str, *more: Condition) -> Result:
    """Only a person can help, with a new spec, which wakes the resource, or at the forge."""
    told = status.model_copy(update={"phase": "blocked"})
    both = [condition_false("Ready", reason, words), condition_true("Stalled", reason, words)]
    if reason == "HeadChanged":
        return ctx.settled(told, conditions=[*both, *more])
    return ctx.requeue_after(BLOCKED_SECONDS, told, conditions=[*both, *more])
