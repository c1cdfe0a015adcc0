"""`rmctl cordon` and `rmctl uncordon`: whether anything more is placed on a node."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.patching import patch_all
from cli.targets import nodes

Names = Annotated[list[str], typer.Argument(metavar="NODE...")]


def cordon(
    context: typer.Context,
    names: Names,
    reason: Annotated[str | None, typer.Option("--reason", help="shown wherever it matters")] = None,
) -> int:
    """Place nothing more on these nodes; what runs there runs on."""
    return patch_all(
        context.obj, nodes(names), {"cordoned": True, "cordonReason": reason}, "cordoned", "rmctl uncordon {name}"
    )


def uncordon(context: typer.Context, names: Names) -> int:
    """Let these nodes be used again."""
    return patch_all(context.obj, nodes(names), {"cordoned": False, "cordonReason": None}, "uncordoned")
