"""`rmctl reserve`: devices and amounts of a pool, held for a time."""

from __future__ import annotations

import secrets
from math import isfinite
from typing import Annotated, Any

import typer

from cli import paths
from cli.apply import MANAGER
from cli.durations import seconds
from cli.errors import NO_PLACE, UsageProblem
from cli.fetching import one
from cli.foreseen import told
from cli.goals import Value
from cli.kinds import RESERVATION
from cli.output import emit, emit_json, emit_yaml
from cli.session import Session
from cli.targets import Target
from cli.terminal import out, out_lines, say
from cli.views.wire import condition, holds
from cli.waiting import await_goal

ANSWER_SECONDS = "1m"
ANSWERED = Value("{.status.conditions[0].type}")
"""The controller has looked at it as it stands."""


def reserve(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="made up unless given")] = "",
    pool: Annotated[str, typer.Option(metavar="POOL")] = "default",
    gpus: Annotated[int | None, typer.Option(metavar="N", help="whole GPUs of one node")] = None,
    gpu_units: Annotated[int | None, typer.Option(metavar="N", help="thousandths of one GPU")] = None,
    selector: Annotated[str, typer.Option(metavar="TEXT", help='which GPUs, "gpuModel = H100, vramGiB >= 80"')] = "",
    nvlink: Annotated[bool, typer.Option("--nvlink", help="all of them joined by NVLink")] = False,
    vcpu: Annotated[float | None, typer.Option(metavar="N", help="vCPU of the same node")] = None,
    memory: Annotated[int | None, typer.Option(metavar="MIB", help="memory of the same node")] = None,
    cores: Annotated[int | None, typer.Option(metavar="N", help="whole cores of the same node")] = None,
    whole_node: Annotated[bool, typer.Option("--whole-node", help="a node with all that it has")] = False,
    gang: Annotated[int | None, typer.Option(metavar="N", help="so many times, all or none")] = None,
    domain: Annotated[str, typer.Option(metavar="LABEL", help="what keeps a gang together; fabric.domain")] = "",
    length: Annotated[str, typer.Option("--for", metavar="DURATION", help="until it is deleted unless given")] = "",
    start: Annotated[str, typer.Option(metavar="TIME", help="RFC 3339; now unless given")] = "",
    end: Annotated[str, typer.Option(metavar="TIME", help="RFC 3339, instead of --for")] = "",
    tenant: Annotated[str, typer.Option(metavar="NAME", help="whose dedicated nodes it may use")] = "",
    holder: Annotated[str, typer.Option(metavar="TEXT", help="whom it is for")] = "",
    binding: Annotated[str, typer.Option(metavar="host|node|kubernetes", help="how it is used; host")] = "",
    preemptible: Annotated[bool, typer.Option("--preemptible", help="others may take it")] = False,
    preempts: Annotated[bool, typer.Option("--preempts", help="names whom it would displace")] = False,
    dry_run: Annotated[str, typer.Option(metavar="[=server]", help="say where it would be; store nothing")] = "",
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="for the placer's answer")] = ANSWER_SECONDS,
) -> int:
    """Book devices and amounts of a pool for a time. 6 when there is no room now; it then waits for some."""
    session: Session = context.obj
    limit = seconds(timeout)
    _together(gpus=gpus, gpu_units=gpu_units, selector=selector, nvlink=nvlink, gang=gang, domain=domain)
    devices = [_ask({"count": gpus}, selector, nvlink=nvlink)] if gpus is not None else []
    if gpu_units is not None:
        devices.append(_ask({"units": gpu_units}, selector, nvlink=False))
    amounts = {"vcpuMilli": None if vcpu is None else _milli(vcpu), "memoryMiB": memory, "cores": cores}
    spec = _given(
        pool=pool,
        holder=holder,
        tenant=tenant,
        devices=devices,
        amounts=_given(**amounts),
        start=start,
        end=end,
        durationSeconds=_whole_seconds(length) if length else None,
        gang=None if gang is None else _given(size=gang, domain=domain),
        wholeNode=whole_node,
        binding=binding,
        preemptible=preemptible,
        preempts=preempts,
    )
    target = Target(RESERVATION, name or f"r-{secrets.token_hex(4)}", session.asked_project or "")
    document = {
        "apiVersion": "rmctl/v1",
        "kind": "reservation",
        "metadata": _given(name=target.name, project=session.asked_project),
        "spec": spec,
    }
    if dry_run not in ("", "server"):
        raise UsageProblem(f'--dry-run "{dry_run}": only the server knows where there is room')
    if dry_run:
        return _foresee(session, document)
    (item,) = session.client.send("POST", paths.BATCH, {"fieldManager": MANAGER, "documents": [document]})["items"]
    if item.get("outcome") == "configured":
        say(f"{target} was there already, and is changed")
    await_goal(session, [target], ANSWERED, limit)
    return _booked(session, target)


def _foresee(session: Session, document: dict[str, Any]) -> int:
    form = session.output("json", "yaml")
    (item,) = session.client.send("POST", paths.PLAN, {"fieldManager": MANAGER, "documents": [document]})["items"]
    preview = item.get("preview") or {}
    if form:
        (emit_json if form == "json" else emit_yaml)(preview)
    else:
        out_lines(told(preview))
    return 0 if preview.get("fits") else NO_PLACE


def _booked(session: Session, target: Target) -> int:
    form = session.output("json", "yaml", "name")
    found = one(session, target)
    booked = holds(found, "Booked") and not holds(found, "Unschedulable")
    if form:
        emit(found, form)
    elif booked:
        status = found.get("status") or {}
        for held in status.get("allocations") or ():
            devices = ", ".join(str(device.get("id")) for device in held.get("devices") or ())
            out(f"{target} booked on {held.get('node')}" + (f": {devices}" if devices else ""))
    elif (found.get("status") or {}).get("phase") == "expired":
        out(f"{target} is over: {condition(found, 'Booked').get('message', '')}")
    else:
        why = condition(found, "Unschedulable").get("message") or condition(found, "Booked").get("message", "")
        out(f"{target} waits: {why}")
        say(f"Next: rmctl wait {target} --for=condition=Booked, or rmctl delete {target}")
    return 0 if booked else NO_PLACE


def _ask(amount: dict[str, Any], selector: str, *, nvlink: bool) -> dict[str, Any]:
    return {"class": "gpu", **amount, **_given(selector=selector, topology="nvlink-all" if nvlink else "")}


def _together(
    *, gpus: int | None, gpu_units: int | None, selector: str, nvlink: bool, gang: int | None, domain: str
) -> None:
    """Raises UsageProblem for a flag that says more about what is not asked for."""
    if selector and gpus is None and gpu_units is None:
        raise UsageProblem("--selector tells which GPUs: it goes with --gpus or --gpu-units")
    if nvlink and gpus is None:
        raise UsageProblem("--nvlink tells how GPUs are joined: it goes with --gpus")
    if domain and gang is None:
        raise UsageProblem("--domain tells what keeps a gang together: it goes with --gang")


def _milli(vcpu: float) -> int:
    """Raises UsageProblem for less than a thousandth, and for parts of one."""
    milli = round(vcpu * 1000) if isfinite(vcpu) else 0
    if milli < 1 or abs(vcpu * 1000 - milli) > 1e-6:
        raise UsageProblem(f"--vcpu {vcpu:g}: a number above 0, in steps of 0.001")
    return milli


def _whole_seconds(length: str) -> int:
    """Raises UsageProblem for parts of a second."""
    span = seconds(length)
    if span != int(span):
        raise UsageProblem(f"--for {length}: whole seconds, at least 1s")
    return int(span)


def _given(**fields: Any) -> dict[str, Any]:
    """What was said; what was not stays with its default."""
    return {name: value for name, value in fields.items() if value is not False and value not in (None, "", [], {})}
