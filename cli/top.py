"""`rmctl top`: how much of nodes and pools is claimed, and by which jobs most."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.errors import UsageProblem
from cli.fetching import every
from cli.kinds import JOB, NODE, POOL, known
from cli.output import emit, listed
from cli.session import Session
from cli.tables import lines
from cli.terminal import out_lines, say
from cli.views.job import asks
from cli.views.wire import Document, metadata, number, spec, status, title, whole

KINDS = (POOL, NODE, JOB)
NODES = ("NAME", "VCPU", "", "CORES", "MEMORY", "JOBS")
POOLS = ("NAME", "VCPU", "", "NODES", "WAITING")
JOBS = ("NAME", "VCPU", "ASKS", "NODE", "RESTARTS")


def top(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="nodes|pools|jobs")] = "nodes",
    no_headers: Annotated[bool, typer.Option("--no-headers")] = False,
) -> int:
    """Print what is claimed, the most claimed first. It is what jobs asked for, not what they use."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    kind = known(what, KINDS)
    if kind is None:
        raise UsageProblem(f'"{what}": one of nodes, pools, jobs')
    found = every(session, kind).items
    if form:
        emit(listed(found), form)
        return 0
    header, cells = {NODE.name: (NODES, _node), POOL.name: (POOLS, _pool), JOB.name: (JOBS, _job)}[kind.name]
    if kind is JOB:
        found = [item for item in found if status(item).get("node")]
    if not found:
        say(f"no {kind.plural}")
        return 0
    order = sorted(found, key=lambda item: (-_claimed(item), title(item)))
    rows = [cells(item) for item in order]
    out_lines(lines(rows if no_headers else [header, *rows]))
    return 0


def _claimed(item: Document) -> float:
    """The claimed share of a node or a pool; what a job asks for, in vCPU."""
    match item.get("kind"):
        case "node":
            amount = _amount(item, "vcpu")
            return _number(amount.get("reserved")) / (_number(amount.get("cap")) or 1.0)
        case "pool":
            return _number(status(item).get("usedCapacityFraction"))
        case _:
            return _number((spec(item).get("requirements") or {}).get("requiredCapacity"))


def _node(item: Document) -> tuple[str, ...]:
    vcpu, cores, memory = (_amount(item, name) for name in ("vcpu", "cores", "memory"))
    return (
        str(metadata(item).get("name")),
        _of(vcpu),
        f"{_claimed(item):.0%}",
        _of(cores),
        f"{_of(memory)} MiB" if memory else "-",
        str(len(status(item).get("jobs") or ())),
    )


def _pool(item: Document) -> tuple[str, ...]:
    found = status(item)
    total, claimed = found.get("totalCapacity"), found.get("claimedCapacity")
    return (
        str(metadata(item).get("name")),
        f"{number(claimed)} of {number(total)}",
        f"{_claimed(item):.0%}",
        str(whole(found.get("nodeCount"))),
        str(whole(found.get("waitingJobs"))),
    )


def _job(item: Document) -> tuple[str, ...]:
    restarts = status(item).get("restarts") or {}
    return (
        title(item).removeprefix("job/"),
        number(_claimed(item)),
        asks(item),
        str(status(item).get("node")),
        str(whole(restarts.get("lastHour"))),
    )


def _amount(item: Document, name: str) -> dict[str, Any]:
    found = (status(item).get("capacity") or {}).get(name)
    return found if isinstance(found, dict) else {}


def _of(amount: dict[str, Any]) -> str:
    return f"{number(amount.get('reserved'))} of {number(amount.get('cap'))}" if amount else "-"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
