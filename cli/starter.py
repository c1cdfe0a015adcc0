"""`rmctl init`: the first lines of a manifest, ready to be changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import messages
from cli.errors import UsageProblem
from cli.kinds import KINDS, known
from cli.session import Session
from cli.terminal import out, say
from resources.names import label_problem

BUNDLE = """\
apiVersion: rmctl/v1
kind: bundle
metadata:
  name: {name}{project}
spec:
  pool: default                          # rmctl get pools
  # resiliencePolicy: {{sameNode: forbid}} # a backup copy, on another node
  jobs:
    - jobName: main
      command: [sh, -c, "echo {name} begins; exec sleep infinity"]
      requirements:
        requiredCapacity: 0.5            # vCPU
        # requiredHostPorts: [8080/tcp]
        onRuntimeFailure: avoidSpare     # start it again when it dies, leave warm spares alone
      # readiness: {{tcp: 8080}}           # rmctl explain bundle.spec.jobs.readiness
      # env: {{LEVEL: info}}
      # secretEnv: {{TOKEN: {{secret: {name}, key: token}}}}   # rmctl secret set {name} token
"""
POOL = """\
apiVersion: rmctl/v1
kind: pool
metadata:
  name: {name}
spec:
  tiers:                                 # in the order in which they are tried
    - name: local
      kind: local-servers
      scaleOut: fixed                    # machines that people register: rmctl node join NAME --pool {name}
      packingStrategy: spread
"""
TEMPLATE = """\
apiVersion: rmctl/v1
kind: template
metadata:
  name: {name}{project}
spec:                                    # defaults for every job of this name, or that names it
  env: {{LEVEL: info}}
  stopGraceSeconds: 30
"""
STARTERS = {"bundle": BUNDLE, "pool": POOL, "template": TEMPLATE}


def init(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="bundle|pool|template|resource-manager")],
    name: Annotated[str, typer.Argument(metavar="NAME")],
) -> int:
    """Print a manifest to start from; nothing is sent. `resource-manager` writes a kind of your own: its definition, a
    test of it and a manifest."""
    session: Session = context.obj
    session.output()
    if kind == "resource-manager":
        from cli.authoring import write

        return write(Path.cwd(), name)
    found = known(kind, KINDS)
    if found is None or found.name not in STARTERS:
        raise UsageProblem(f'"{kind}": one of {", ".join(STARTERS)}, resource-manager')
    problem = label_problem(name)
    if problem:
        raise UsageProblem(messages.BAD_NAME.format(kind=found.name, name=name, problem=problem))
    project = f"\n  project: {session.project}" if session.asked_project else ""
    out(STARTERS[found.name].format(name=name, project=project).rstrip("\n"))
    say(f"Next: rmctl init {found.name} {name} > {name}.yaml, then rmctl plan -f {name}.yaml")
    return 0
