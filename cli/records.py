"""`get effects`, `get queue` and `get runs`: the records behind the resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli import paths
from cli.durations import age
from cli.errors import UsageProblem
from cli.fetching import one
from cli.output import FORMATS, emit, listed
from cli.session import Session
from cli.tables import lines
from cli.targets import named
from cli.terminal import out_lines, say
from cli.views.wire import World, metadata, named_as


def show_records(session: Session, what: Sequence[str], form: str) -> int:
    """`what` is the word for the records, then at most the resource they belong to."""
    path = {"queue": paths.QUEUE, "runs": paths.RUNS, "run": paths.RUNS}.get(what[0].lower(), paths.EFFECTS)
    query = {"project": session.project}
    if len(what) > 1:
        owner = named(what[1:], session.kind)
        if len(owner) != 1:
            raise UsageProblem("the records of one resource at a time")
        query = {"uid": str(metadata(one(session, owner[0])).get("uid", ""))}
    answer = session.client.get(path, query)
    found = answer.get("items", [])
    if form and form not in ("wide", "name"):
        emit(listed(found), form)
        return 0
    if form not in ("", "wide", *FORMATS) or form == "name":
        raise UsageProblem("records have no names; -o json, yaml or jsonpath=…")
    if not found:
        say(f"no {what[0].lower()}")
        return 0
    around = World(session.now())
    shape = {paths.QUEUE: _queue, paths.RUNS: _runs}.get(path, _effects)
    cells = shape(found, around)
    out_lines(lines(cells))
    if beyond := metadata(answer).get("remainingItemCount"):
        say(f"{beyond} more are not shown: rmctl get {what[0]} KIND/NAME shows those of one resource")
    return 0


def effect_cells(effect: dict[str, Any], around: World) -> tuple[str, ...]:
    """Kind, state, clock, duration, key: a line of `describe`."""
    started, ended = effect.get("startedAt") or effect.get("createdAt"), effect.get("completedAt")
    begun, done = around.since(started), around.since(ended)
    took = f"{max(0.0, begun - done) * 1000:.0f} ms" if begun is not None and done is not None else "-"
    at = str(started or "-").partition("T")[2].partition(".")[0].rstrip("Z")
    why = str(effect.get("error") or "")
    return (
        str(effect.get("kind", "")),
        str(effect.get("state", "")),
        f"{at}Z" if at else "-",
        took,
        str(effect.get("key", "")),
        why,
    )


def _effects(found: Sequence[dict[str, Any]], around: World) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("OWNER", "EFFECT", "STATE", "ATTEMPTS", "AGE", "TARGET", "KEY", "ERROR")]
    for effect in found:
        since = around.since(effect.get("createdAt"))
        rows.append(
            (
                _owner(effect.get("owner") or effect),
                str(effect.get("kind") if "owner" in effect else effect.get("effect", effect.get("kind", ""))),
                str(effect.get("state", "")),
                str(effect.get("attempts", "")),
                age(since) if since is not None else "-",
                str(effect.get("target") or "-"),
                str(effect.get("key", "")),
                str(effect.get("error") or "-"),
            )
        )
    return rows


def run_cells(run: dict[str, Any], around: World) -> tuple[str, ...]:
    """Workflow, state, age, steps, key: a line of `describe`."""
    since = around.since(run.get("createdAt"))
    steps = run.get("steps") or []
    done = sum(step.get("state") == "done" for step in steps)
    waits = f"waits for {run['waitsFor']}" if run.get("waitsFor") else str(run.get("error") or "")
    old = age(since) if since is not None else "-"
    return (str(run.get("workflow")), str(run.get("state")), old, f"{done} steps done", str(run.get("key")), waits)


def _runs(found: Sequence[dict[str, Any]], around: World) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("OWNER", "RUN", "WORKFLOW", "STATE", "ATTEMPT", "AGE", "DONE", "WAITS FOR", "ERROR")
    ]
    for run in found:
        workflow, state, old, done, *_ = run_cells(run, around)
        waits, error = str(run.get("waitsFor") or "-"), str(run.get("error") or "-")
        attempt = str(run.get("attempt", ""))
        rows.append(
            (_owner(run["owner"]), str(run.get("id", ""))[:8], workflow, state, attempt, old, done, waits, error)
        )
    return rows


def _queue(found: Sequence[dict[str, Any]], around: World) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("KEY", "DUE", "ATTEMPTS", "CLAIMED", "ERROR")]
    for entry in found:
        due = around.since(entry.get("dueAt") or entry.get("availableAt"))
        when = "-" if due is None else "now" if due >= 0 else f"in {age(-due)}"
        claimed = str(entry.get("claimedBy") or ("yes" if entry.get("claimed") else "-"))
        error = str(entry.get("lastError") or entry.get("error") or "-")
        rows.append((_owner(entry), when, str(entry.get("attempts", "")), claimed, error))
    return rows


def _owner(entry: object) -> str:
    if isinstance(entry, dict):
        return named_as(entry)
    return str(entry)
