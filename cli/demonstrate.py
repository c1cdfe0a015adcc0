"""`rmctl demo`: a server, three nodes and the examples on this machine."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer


def demo(
    once: Annotated[bool, typer.Option("--once", help="end when every example is where its file expects it")] = False,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="a folder of its own; .demo unless given")] = None,
) -> int:
    """Start all of it, say what runs, what waits and why, and follow events until Ctrl-C stops what was started."""
    code = import_module("cli.demo").run(once=once, data=data)
    return code if isinstance(code, int) else 0
