"""The runs of a resource, one at a time, each in a git worktree where there is a clone to make it from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import AfterValidator, Field

from controllers.definitions.children import NoWorkflow, Run
from controllers.definitions.context import Context
from controllers.definitions.results import Result, requeue_after
from controllers.definitions.sdk import Resource, Status
from controllers.definitions.touching import Effect
from controllers.providers import git_worktrees
from controllers.providers.git_worktrees import Login
from resources.conditions import Condition
from resources.effect import CANCELLED, Rejected
from resources.frozen import Frozen

KINDS = {"worktree": "git-worktree", "worktree-removal": "git-worktree-removal"}
"""Of effects, by how their keys begin."""
MAKE, REMOVE = KINDS
WAIT_SECONDS = 30.0
MOST_SECONDS = 300.0
"""Between two attempts to make or to remove a worktree; the first ones follow faster."""


def _clone(value: str) -> str:
    path = PurePath(value)
    if not path.is_absolute() or not path.name or ".." in path.parts or not value.isprintable():
        raise ValueError("expected the absolute path of a clone, without ..")
    return str(path)


Clone = Annotated[str, Field(max_length=512), AfterValidator(_clone)]
"""A path that could be one; whether it is, `begun` finds out."""


class Place(NamedTuple):
    """Where a worktree belongs, and what it is fetched with. Each `number` of a resource has one place only."""

    clone: str
    name: str
    number: int
    ref: str
    login: Login | None

    @property
    def path(self) -> str:
        return git_worktrees.beside(self.clone, self.name)


class Claim(Frozen):
    """A worktree that a resource answers for, on record from before it is made until it is gone."""

    number: int
    clone: str
    path: str
    run: str = ""
    """Key of the run that it was made for last."""
    tries: int = 0
    """Refused attempts; each has an effect of its own."""


class Asked(Frozen):
    """A run, as it was asked for. One with a worktree is told its path under this name."""

    key: str
    workflow: str
    input: dict[str, Any]


class Occupied(Status):
    """What a status holds for `begun`. Its resource has a finalizer exactly while `worktree` is there."""

    run: Asked | None = None
    """The run under way, whatever the spec says by now; written down before it is begun."""
    worktree: Claim | None = None

    @property
    def has_begun(self) -> bool:
        """Whether somebody may be at work for `run`."""
        if self.run is None or "worktree" not in self.run.input:
            return self.run is not None
        return self.worktree is not None and self.worktree.run == self.run.key

    def strays(self, place: Place | None) -> bool:
        """Whether its worktree is not the one that is wanted by now, and nobody is at work in it."""
        wanted = None if place is None else place.path
        return self.worktree is not None and self.worktree.path != wanted and not self.has_begun


S = TypeVar("S", bound=Occupied)


@dataclass(frozen=True)
class Begun(Generic[S]):
    """`status.run` is empty once the run has ended."""

    status: S
    run: Run


@dataclass(frozen=True)
class Later(Generic[S]):
    """Not yet, and why; `reason` where something is wrong. Commit the status, and look again after so many seconds."""

    status: S
    words: str
    after: float = 0.0
    reason: str = ""


async def begun(ctx: Context, status: S, asked: Asked, place: Place | None, sha: str) -> Begun[S] | Later[S]:
    """The run, begun when the one before has ended, in a worktree that is as the commit is. Raises NoWorkflow."""
    before = status.run
    if before is not None and status.has_begun:
        if before.key == asked.key:
            return await _found(ctx, status, before)
        if await under_way(ctx, before):
            return Later(status, f"waits for the end of {before.key}", WAIT_SECONDS)
        return Later(status.model_copy(update={"run": None}), f"{before.key} has ended")
    if place is not None and before != asked:
        problem = await asyncio.to_thread(git_worktrees.clone_problem, place.clone)
        if problem:
            return Later(status, f"{place.clone} is no clone that can be used: {problem}", MOST_SECONDS, "Unusable")
    if before != asked:
        claim = status.worktree
        if place is not None and claim is None:
            claim = Claim(number=place.number, clone=place.clone, path=place.path)
        return Later(status.model_copy(update={"run": asked, "worktree": claim}), f"{asked.workflow} begins")
    if place is None or status.worktree is None:
        return Later(status.model_copy(update={"run": None}), "its worktree is gone")
    claim, words = await _made(ctx, status.worktree, asked.key, sha, place)
    after = _pause(claim) if words else 0.0
    return Later(status.model_copy(update={"worktree": claim}), words, after, "NoWorktree" if words else "")


async def _found(ctx: Context, status: S, asked: Asked) -> Begun[S]:
    run: Run = await ctx.workflows.ensure(key=asked.key, workflow=asked.workflow, input=asked.input)
    ended = run.state in ("succeeded", "failed")
    return Begun(status.model_copy(update={"run": None}) if ended else status, run)


async def under_way(ctx: Context, asked: Asked) -> bool:
    try:
        run: Run = await ctx.workflows.ensure(key=asked.key, workflow=asked.workflow, input=asked.input)
    except NoWorkflow:
        return False
    return run.state not in ("succeeded", "failed")


async def vacated(ctx: Context, status: S) -> Later[S]:
    """Without its worktree, or why not yet. With words and a reason also where its clone is gone, and it therefore."""
    claim = status.worktree
    if claim is None:
        return Later(status, "")
    if status.run is not None and status.has_begun and await under_way(ctx, status.run):
        return Later(status, f"waits for the end of {status.run.key}", WAIT_SECONDS)
    key = f"{REMOVE}:{claim.number}:{claim.tries}"
    await _settle(ctx, claim, wanted=key)
    lost = await asyncio.to_thread(git_worktrees.clone_problem, claim.clone)
    done = await _ensured(ctx, claim, key, partial(git_worktrees.remove, claim.clone, claim.path))
    if not done.applied:
        claim = claim.model_copy(update={"tries": claim.tries + 1})
        return Later(status.model_copy(update={"worktree": claim}), done.error, _pause(claim), "CannotRemove")
    left = status.model_copy(update={"run": None, "worktree": None})
    if lost:
        return Later(left, f"{claim.clone}: {lost}; the worktree of it counts as gone", reason="CloneGone")
    return Later(left, f"{claim.path} is removed")


def later(resource: Resource[Any, S], finalizer: str, given: Later[S], *told: Condition) -> Result:
    return requeue_after(given.after, given.status, conditions=told, finalizers=kept(resource, finalizer, given.status))


def kept(resource: Resource[Any, S], finalizer: str, status: S) -> list[str]:
    """Its finalizers, with this one exactly while there is a worktree."""
    others = [name for name in resource.metadata.finalizers if name != finalizer]
    return others if status.worktree is None else [*others, finalizer]


async def _made(ctx: Context, claim: Claim, run: str, sha: str, place: Place) -> tuple[Claim, str]:
    """The claim by now, and why there is no worktree for the run; empty once it stands at the commit."""
    key = f"{MAKE}:{claim.number}:{claim.tries}:{sha}:{run}"
    await _settle(ctx, claim, wanted=key)
    make = partial(git_worktrees.make, claim.clone, claim.path, sha, ref=place.ref, login=place.login)
    done = await _ensured(ctx, claim, key, make)
    if done.applied:
        return claim.model_copy(update={"run": run, "tries": 0}), ""
    return claim.model_copy(update={"tries": claim.tries + 1}), done.error


async def _settle(ctx: Context, claim: Claim, *, wanted: str) -> None:
    """What is open and not wanted any more gets its end."""
    for key in sorted(ctx.effects.open):
        if key != wanted and key.startswith((f"{MAKE}:{claim.number}:", f"{REMOVE}:{claim.number}:")):
            await _ensured(ctx, claim, key, lambda: Rejected("it is not wanted any more", CANCELLED))


async def _ensured(ctx: Context, claim: Claim, key: str, apply: Callable[[], Any]) -> Effect:
    """The request follows from the claim and the key, so that whatever is open can be asked about."""
    what, _, _, *more = key.split(":", 4)
    if what == MAKE:
        wanted = {"headSha": more[0]}
        observe: Callable[[], Any] = partial(git_worktrees.observe, claim.clone, claim.path, more[0])
    else:
        wanted, observe = {}, partial(git_worktrees.observe_removal, claim.clone, claim.path)
    made: Effect = await ctx.effects.ensure(
        key=key,
        kind=KINDS[what],
        request={"clone": claim.clone, "path": claim.path, **wanted},
        observe=lambda: asyncio.to_thread(observe),
        apply=lambda: asyncio.to_thread(apply),
    )
    return made


def _pause(claim: Claim) -> float:
    return float(min(2.0 ** min(claim.tries, 10), MOST_SECONDS))
