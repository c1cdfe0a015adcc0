"""The plainest repair of a pull request: what failed is run once more."""

from __future__ import annotations

import os
from functools import partial

from rmctl import Spec, WorkflowContext, workflow
from rmctl.github import API, connected


class Broken(Spec):
    """Which pull request, at which head."""

    repository: str
    number: int
    head_sha: str
    credential: str = "GITHUB_TOKEN"
    worktree: str | None = None


@workflow("repair-pull-request", input=Broken)
async def repair(ctx: WorkflowContext, broken: Broken) -> dict[str, int]:
    async with connected(os.environ.get(broken.credential), os.environ.get("GITHUB_API_URL", API)) as github:
        failed = await ctx.step("failed", lambda: github.failed_runs(broken.repository, broken.head_sha))
        for run in failed:
            await ctx.step(f"rerun {run}", partial(github.rerun, broken.repository, run))
    return {"rerun": len(failed)}
