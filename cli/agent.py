"""`rmctl agent`: runs the agent of one node until SIGTERM; its jobs live on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.address import data_folder
from cli.errors import BadEnvironment, UsageProblem
from cli.kinds import NODE
from cli.targets import wire_name
from resources.labels import SYSTEM, pair_problem
from resources.names import capability_problem

DEFAULT_ADDRESS = "127.0.0.1"


def agent(
    node: Annotated[str, typer.Option("--node", metavar="NAME", help="what the node is called")],
    pool: Annotated[str, typer.Option(help="counts at the first join only")] = "",
    server: Annotated[
        str, typer.Option(metavar="ADDRESS", help="RM_AGENTS, else agents.sock in the default data folder")
    ] = "",
    token: Annotated[str, typer.Option(help="a join token; RM_JOIN_TOKEN keeps it out of the process list")] = "",
    token_file: Annotated[Path | None, typer.Option(metavar="FILE", help="the join token is in this file")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="agents/NAME in the default data folder unless given")
    ] = None,
    capacity: Annotated[float | None, typer.Option(metavar="VCPU", help="the machine's CPUs unless given")] = None,
    zone: Annotated[str, typer.Option()] = "",
    address: Annotated[str, typer.Option(help="where the node's jobs are reached")] = DEFAULT_ADDRESS,
    capability: Annotated[list[str] | None, typer.Option(metavar="NAME", help="repeatable")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="repeatable")] = None,
    devices: Annotated[Path | None, typer.Option(metavar="FILE", help="devices that no driver reports")] = None,
    gpus: Annotated[bool, typer.Option(help="report the GPUs that NVIDIA's driver tells of")] = True,
) -> int:
    """Join the fleet and run jobs. The first Hello spends the token and creates the node."""
    name = wire_name(NODE, node)
    if capacity is not None and not 0 < capacity <= 100_000:
        raise UsageProblem(f"--capacity {capacity:g}: must be > 0 and <= 100000")
    labels = dict(map(_pair, label or ()))
    capabilities = tuple(map(_capability, capability or ()))
    secret = _token(token, token_file)
    folder = data or data_folder() / "agents" / name
    where = server or os.environ.get("RM_AGENTS") or f"unix:{(data_folder() / 'agents.sock').absolute()}"
    from agent.main import main
    from agent.settings import AgentSettings

    settings = AgentSettings(
        node=name,
        server=where,
        data=folder,
        pool=pool,
        token=secret,
        capacity=capacity,
        cores=int(capacity) if capacity is not None else None,
        zone=zone,
        address=address,
        capabilities=capabilities,
        labels=labels,
        devices=devices,
        gpus=gpus,
    )
    return main(settings)


def _token(flag: str, file: Path | None) -> str:
    if flag and file:
        raise UsageProblem("--token and --token-file do not go together")
    if file is None:
        return flag or os.environ.pop("RM_JOIN_TOKEN", "")
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironment(f"{file}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageProblem(f'--label "{text}": expected KEY=VALUE')
    problem = pair_problem(key, value)
    if problem is not None:
        raise UsageProblem(f'--label "{text}": {problem}')
    if key.startswith(SYSTEM):
        raise UsageProblem(f'--label "{text}": labels that start with {SYSTEM} are the system\'s')
    return key, value


def _capability(text: str) -> str:
    problem = capability_problem(text)
    if problem is not None:
        raise UsageProblem(f'--capability "{text}": {problem}')
    return text
