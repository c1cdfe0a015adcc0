"""`rmctl plan`: what apply would change, and where it would run now; nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from cli import paths
from cli.apply import FILES_HELP, MANAGER, left_alone, posted
from cli.errors import FOUND_DIFFERENCES, NO_PLACE, UsageProblem
from cli.foreseen import told
from cli.manifests import Manifest, load
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.tables import lines
from cli.targets import jobs
from cli.terminal import out, out_lines, safe, say
from resources.names import shown

Item = dict[str, Any]
Files = Annotated[list[str], typer.Option("-f", "--filename", help=FILES_HELP)]
Recursive = Annotated[bool, typer.Option("-R", "--recursive", help="directories below directories too")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="1 when anything would change")]
WORDS = {"created": "would be created", "configured": "would change", "unchanged": "would not change"}


def plan(
    context: typer.Context,
    files: Files,
    recursive: Recursive = False,
    offline: Annotated[bool, typer.Option("--offline", help="check the files alone, without a server")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="what became of every node, job by job")] = False,
    exit_code: ExitCode = False,
) -> int:
    """Say what would change and where it would run. 6 when a job cannot be placed now."""
    return _plan(
        context.obj, load(files, recursive=recursive), files, offline=offline, trace=trace, exit_code=exit_code
    )


def _plan(
    session: Session,
    manifests: Sequence[Manifest],
    files: Sequence[str],
    *,
    offline: bool = False,
    trace: bool = False,
    exit_code: bool = False,
    only: Sequence[str] = (),
) -> int:
    """`only` these jobs are told about, if any are named; the others take their room all the same."""
    form = session.output("json", "yaml")
    items = _offline(manifests) if offline else planned(session, manifests, traced=trace)
    if only:
        items = _of(items, only)
    if form:
        (emit_json if form == "json" else emit_yaml)({"items": items})
    else:
        _print(items)
    changed = any(item.get("outcome") in ("created", "configured") for item in items)
    if not form and not offline:
        say(_next(items, files, changed=changed))
    if any(not _fits(item) for item in items):
        return NO_PLACE
    return FOUND_DIFFERENCES if exit_code and changed else 0


def validate(context: typer.Context, files: Files, recursive: Recursive = False) -> int:
    """Check files alone, without a server: the same as `rmctl plan --offline`."""
    return _plan(context.obj, load(files, recursive=recursive), files, offline=True)


def place(
    context: typer.Context,
    files: Files,
    names: Annotated[list[str] | None, typer.Argument(metavar="[JOB...]", help="of these only")] = None,
    recursive: Recursive = False,
) -> int:
    """Say where jobs would run, and what became of every node: the same as `rmctl plan --trace`."""
    only = [str(one) for one in jobs(names)] if names else []
    return _plan(context.obj, load(files, recursive=recursive), files, trace=True, only=only)


def _of(items: Sequence[Item], only: Sequence[str]) -> list[Item]:
    """Raises UsageProblem for a job that is in none of them."""
    known = [_name(one) for item in items for one in item.get("placements") or ()]
    strange = next((name for name in only if name not in known), None)
    if strange is not None:
        raise UsageProblem(f"{strange} is not in what was given", hint=f"jobs: {', '.join(known) or 'none'}")
    kept = [
        {**item, "placements": [one for one in item.get("placements") or () if _name(one) in only]} for item in items
    ]
    return [item for item in kept if item["placements"]]


def _name(placement: Item) -> str:
    name = str(placement.get("job", ""))
    return name if name.startswith("job/") else shown("job", name)


def planned(session: Session, manifests: Sequence[Manifest], *, traced: bool = False) -> list[Item]:
    path = f"{paths.PLAN}?trace=true" if traced else paths.PLAN
    return posted(session, path, {"fieldManager": MANAGER}, manifests)


def _fits(item: Item) -> bool:
    preview = item.get("preview") or {"fits": True}
    return bool(preview.get("fits")) and all(_placed(one) for one in item.get("placements") or ())


def _offline(manifests: Sequence[Manifest]) -> list[Item]:
    from cli.offline import check

    return check(manifests)


def _print(items: Sequence[Item]) -> None:
    for item in items:
        name = shown(str(item.get("kind")), str(item.get("key") or item.get("name")))
        out(safe(f"{name} {WORDS.get(str(item.get('outcome')), 'is valid')}"))
        if item.get("restarts"):
            out(safe(f"restarts: {', '.join(map(str, item['restarts']))}"))
        for text in left_alone(item):
            say(text)
        out_lines(f"  {line}" for line in told(item.get("preview") or {"fits": True}))
        placements = item.get("placements") or ()
        for one, line in zip(placements, lines([_cells(one) for one in placements]), strict=True):
            out(f"  {line}")
            out_lines(f"    {safe(more)}" for more in _more(one))


def _cells(placement: Item) -> tuple[str, str, str]:
    job = _name(placement)
    tier = f"tier {placement['tier']}" if placement.get("tier") else ""
    if placement.get("answer") == "runs":
        return (job, f"on {placement.get('node')}", "stays")
    if placement.get("answer") in ("completed", "dropped"):
        return (job, str(placement["answer"]), "stays")
    if placement.get("node"):
        restarts = "restarts, " if placement.get("answer") == "restarts" else ""
        within = f", in its reservation {placement['reservation']}" if placement.get("reservation") else ""
        others = [str(name) for name in placement.get("drawn") or () if name != placement["node"]]
        lots = f", or {', '.join(others)}: one of them is drawn" if others else ""
        where = f"{tier}{within}{lots}" if tier else str(placement.get("sentence") or "")
        return (job, f"→ {placement['node']}", restarts + where)
    return (job, "→ a new machine" if _placed(placement) else "waits", str(placement.get("sentence") or tier))


def _more(placement: Item) -> Iterator[str]:
    """Below a job: the trace, and what the placer confirmed would help."""
    yield from str(placement.get("trace") or "").splitlines()[1:]
    if placement.get("missing"):
        yield f"nothing in its pool has {', '.join(map(str, placement['missing']))}"
    would = placement.get("wouldFit") or ()
    if would:
        yield "would fit if"
        yield from (f"  {number}. {text}" for number, text in enumerate(would, 1))


def _placed(placement: Item) -> bool:
    """A node, a tier that would launch one, or no need of either."""
    answer = placement.get("answer")
    return bool(
        placement.get("node") or placement.get("tier") or answer in ("placed", "provision", "completed", "dropped")
    )


def _next(items: Sequence[Item], files: Sequence[str], *, changed: bool) -> str:
    if not changed:
        return "Nothing would change."
    placements = [one for item in items for one in item.get("placements") or ()]
    waiting = sum(not _placed(one) for one in placements)
    short = f"{waiting} of {len(placements)} jobs would wait. " if waiting else ""
    return f"{short}Next: rmctl apply {' '.join(f'-f {safe(name)}' for name in files)}"
