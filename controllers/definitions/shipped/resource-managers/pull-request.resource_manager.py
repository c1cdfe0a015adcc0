"""A pull request: its checks are repaired, its reviews awaited, and it is merged at the head that was agreed on."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from controllers.definitions.shipped.reviews import Verdict, verdict_of
from rmctl import (
    Condition,
    Context,
    Effect,
    NoWorkflow,
    Rejected,
    Resource,
    Result,
    Spec,
    condition_false,
    condition_true,
    resource_manager,
)
from rmctl.git import Asked, Begun, Clone, Login, Occupied, Place, begun, kept, later, vacated
from rmctl.github import API, GitHub, NotAuthorised, RateLimited, connected, site


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
    review: str | None = None
    checkout: Clone | None = None


class PullRequestStatus(Occupied):
    """What was last seen."""

    phase: Literal["observing", "waiting", "repairing", "reviewing", "merging", "merged", "blocked"] = "observing"
    head_sha: str | None = None
    merge_sha: str | None = None
    checks: dict[str, int] = Field(default_factory=dict)
    approvals: int = 0
    repairs: int = 0
    refusals: int = 0
    """Merges that the forge refused for a reason that goes away."""
    verdict: Verdict | None = None


PullRequest = Resource[PullRequestSpec, PullRequestStatus]
BLOCKED_SECONDS = 300.0
"""What only a person can help with is looked at this often, should it have been helped."""
PASSING = ("409", "405: Base branch was modified")
PHASES = {"Repairing": "repairing", "Reviewing": "reviewing"}
PARTING_SECONDS = 5.0
"""What a cancelled run has to end in before its worktree goes."""
WORKTREE = "pull-request/worktree"


@resource_manager("pull-request", spec=PullRequestSpec, status=PullRequestStatus, deadline=600)
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
    spec, status = resource.spec, resource.status
    await settle_others(ctx, resource, github)
    if resource.deleting:
        return await parted(ctx, resource)
    pull = await github.pull_request(spec.repository, spec.number)
    if pull.head_sha != status.head_sha:
        run = None if status.worktree is None else status.run
        status = status.model_copy(update={"head_sha": pull.head_sha, "repairs": 0, "run": run})
    if pull.merged:
        if merge_key(resource) in ctx.effects.open:
            await merged(ctx, resource, github)
        done = status.model_copy(update={"phase": "merged", "merge_sha": pull.merge_sha})
        return await left(ctx, resource, done, condition_true("Ready", "Merged", f"is merged as {pull.merge_sha[:12]}"))
    if pull.closed:
        return blocked(ctx, status, "Closed", "is closed without a merge")
    if pull.head_sha != spec.expected_head_sha:
        words = f"the head is {pull.head_sha[:12]}, agreed on was {spec.expected_head_sha[:12]}: apply the new one"
        moved = condition_false("HeadValid", "HeadChanged", words)
        return blocked(ctx, status, "HeadChanged", words, moved)
    if status.strays(place_of(resource)):
        return await left(ctx, resource, status, condition_false("Ready", "Observing", "another worktree is wanted"))
    return await agreed(ctx, resource, status, github, mergeable=pull.mergeable)


async def agreed(
    ctx: Context, resource: PullRequest, status: PullRequestStatus, github: GitHub, *, mergeable: bool | None
) -> Result:
    """At the head that was agreed on: what is missing is seen to, then it is merged."""
    spec, valid = resource.spec, condition_true("HeadValid", "Matches")
    required = None if spec.require_checks == "all" else spec.require_checks
    checks = await github.checks(spec.repository, spec.expected_head_sha, required)
    counted = {name: len(getattr(checks, name)) for name in ("passed", "failed", "pending")}
    status = status.model_copy(update={"checks": counted})
    if checks.failed:
        return await repaired(ctx, resource, status, f"failed: {', '.join(checks.failed)}", valid)
    if checks.pending:
        return waiting(ctx, resource, status, "ChecksPending", f"waits for {', '.join(checks.pending)}", valid)
    approvals = await github.approvals(spec.repository, spec.number, spec.expected_head_sha)
    status = status.model_copy(update={"approvals": approvals})
    if spec.review is not None:
        given = await reviewed(ctx, resource, status, spec.review, valid)
        if isinstance(given, Result):
            return given
        status = given
    if approvals < spec.require_approvals:
        words = f"has {approvals} of {spec.require_approvals} approvals"
        return waiting(ctx, resource, status, "ApprovalPending", words, valid)
    if mergeable is False:
        return blocked(ctx, status, "Conflict", "cannot be merged as it is: it conflicts", valid)
    merge = await merged(ctx, resource, github)
    passes = merge.error.startswith(PASSING if mergeable else ("409", "405"))
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
        if key.startswith("merge:") and (key != merge_key(resource) or resource.deleting):
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
    if status.run is None:
        ctx.event("ChecksFailed", failed, "Warning")
    given = await ran(ctx, resource, status, key, spec.workflow, failed, valid)
    if isinstance(given, Result):
        return given
    status, run = given.status, given.run
    if status.run is None:
        status = status.model_copy(update={"repairs": repairs + 1})
        return waiting(ctx, resource, status, "ChecksPending", f"repair {repairs + 1} {run.state}; {failed}", valid)
    words = f"repair {repairs + 1} of {spec.max_repairs} is {run.state}; {failed}"
    return waiting(ctx, resource, status, "Repairing", words, valid)


async def reviewed(
    ctx: Context, resource: PullRequest, status: PullRequestStatus, workflow: str, valid: Condition
) -> PullRequestStatus | Result:
    """The status with a yes in it, or why there is none."""
    key = f"review:{resource.metadata.generation}:{status.head_sha}"
    verdict = status.verdict
    if verdict is None or verdict.key != key:
        given = await ran(ctx, resource, status, key, workflow, "its review", valid)
        if isinstance(given, Result):
            return given
        status, run = given.status, given.run
        if status.run is not None:
            return waiting(ctx, resource, status, "Reviewing", f"{workflow} is {run.state}", valid)
        verdict = verdict_of(run, workflow)
        status = status.model_copy(update={"verdict": verdict})
    return status if verdict.approved else blocked(ctx, status, "ReviewRejected", verdict.words, valid)


async def ran(
    ctx: Context, resource: PullRequest, status: PullRequestStatus, key: str, workflow: str, why: str, valid: Condition
) -> Begun[PullRequestStatus] | Result:
    """A run for this head, under way or ended, or what comes before it."""
    spec, place, head = resource.spec, place_of(resource), resource.spec.expected_head_sha
    given = {"repository": spec.repository, "number": spec.number, "headSha": head, "credential": spec.credential}
    if place is not None:
        given["worktree"] = place.path
    reason = "Reviewing" if key.startswith("review:") else "Repairing"
    try:
        made = await begun(ctx, status, Asked(key=key, workflow=workflow, input=given), place, head)
    except NoWorkflow as error:
        status = status.model_copy(update={"run": None})
        return blocked(ctx, status, "NoWorkflow", f"{error}; {why}", valid)
    if isinstance(made, Begun):
        return made
    if made.reason == "Unusable":
        return blocked(ctx, made.status, "CheckoutUnusable", f"spec.checkout: {made.words}", valid)
    ready = condition_false("Ready", made.reason or reason, f"{made.words}; {why}" if made.words else why)
    return later(resource, WORKTREE, made, ready, valid)


def place_of(resource: PullRequest) -> Place | None:
    """Where the worktree of the spec belongs; nobody else's has its name."""
    spec, metadata = resource.spec, resource.metadata
    if spec.checkout is None:
        return None
    name = f"{metadata.project}+{spec.repository.replace('/', '+')}+{spec.number}+{metadata.uid[:8]}"
    token = os.environ.get(spec.credential)
    login = Login(site(os.environ.get("GITHUB_API_URL", API)), token) if token else None
    return Place(spec.checkout, name, metadata.generation, f"refs/pull/{spec.number}/head", login)


async def parted(ctx: Context, resource: PullRequest) -> Result:
    """The runtime cancels its runs; the worktree goes after them."""
    status = resource.status
    wait = (resource.metadata.deletion_timestamp or 0.0) + PARTING_SECONDS - ctx.clock.now()
    if status.worktree is not None and status.has_begun and wait > 0:
        return ctx.requeue_after(wait)
    deleting = condition_false("Ready", "Deleting", "is being deleted")
    return await left(ctx, resource, status.model_copy(update={"run": None}), deleting)


async def left(ctx: Context, resource: PullRequest, status: PullRequestStatus, ready: Condition) -> Result:
    """Settled without a worktree, or on the way there."""
    gone = await vacated(ctx, status)
    if not gone.words:
        return ctx.settled(status, conditions=[ready], finalizers=kept(resource, WORKTREE, status))
    if gone.reason == "CloneGone":
        ctx.event("CloneGone", gone.words, "Warning")
    told = condition_false("WorktreeRemoved", gone.reason or "InUse", gone.words)
    if gone.status.worktree is None:
        told = condition_true("WorktreeRemoved", gone.reason or "Removed", gone.words)
    return later(resource, WORKTREE, gone, ready, told)


def waiting(
    ctx: Context, resource: PullRequest, status: PullRequestStatus, reason: str, words: str, valid: Condition
) -> Result:
    told = status.model_copy(update={"phase": PHASES.get(reason, "waiting")})
    ready = condition_false("Ready", reason, words)
    return ctx.requeue_after(resource.spec.poll_seconds, told, conditions=[ready, valid])


def blocked(ctx: Context, status: PullRequestStatus, reason: str, words: str, *more: Condition) -> Result:
    """Only a person can help, with a new spec, which wakes the resource, or at the forge."""
    told = status.model_copy(update={"phase": "blocked"})
    both = [condition_false("Ready", reason, words), condition_true("Stalled", reason, words)]
    if reason == "HeadChanged":
        return ctx.settled(told, conditions=[*both, *more])
    return ctx.requeue_after(BLOCKED_SECONDS, told, conditions=[*both, *more])
