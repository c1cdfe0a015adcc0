"""`rmctl repair`: what can be worked out anew from the resources is worked out anew."""

from __future__ import annotations

import typer

from cli import paths
from cli.output import emit_json
from cli.running import SETTINGS
from cli.session import Session
from cli.terminal import out

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, context_settings=SETTINGS)
app.callback()(lambda: None)


@app.command("queue", help="Rebuild the queue: every resource is looked at now, keys of none are dropped.")
def queue(context: typer.Context) -> int:
    session: Session = context.obj
    form = session.output("json")
    answer = session.client.send("POST", paths.REBUILD, {})
    if form:
        emit_json(answer)
    else:
        out(f"queue rebuilt: {answer.get('woken')} woken, {answer.get('dropped')} dropped")
    return 0
