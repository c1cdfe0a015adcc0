"""`rmctl server`: runs the server; `status` and `stop` speak to one that runs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import paths
from cli.address import data_folder
from cli.durations import seconds, span
from cli.errors import CliError, TimedOut, Unreachable, UsageProblem
from cli.output import emit
from cli.running import SETTINGS
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, say
from cli.views.wire import World
from cli.watching import Deadline

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
STOP_TIMEOUT = "30s"
POLL_SECONDS = 0.1


@app.callback(invoke_without_command=True)
def server(
    context: typer.Context,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="where everything is kept; RM_DATA, else the state folder")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="a PostgreSQL store instead of the file in DIR")
    ] = None,
    http: Annotated[list[str] | None, typer.Option(metavar="ADDRESS", help="listen here too; repeatable")] = None,
    agents: Annotated[
        list[str] | None, typer.Option(metavar="ADDRESS", help="listen for agents here too; repeatable")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="settings, TOML")] = None,
    log: Annotated[
        str | None, typer.Option(metavar="json|text", help="the log on stderr; text on a terminal, else json")
    ] = None,
    dev: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="start none: run the passes of this kind of yours here")
    ] = None,
) -> int:
    """Run the server until SIGTERM. The sockets DIR/rmctl.sock and DIR/agents.sock are always there."""
    if context.invoked_subcommand is not None:
        return 0
    if dev:
        from cli.workbench import work

        return work(context.obj, dev)
    if store is not None:
        raise UsageProblem(f'--store "{store}": this version keeps everything in the data folder')
    run = import_module("cli.server").run
    code = run(data=data or data_folder(), http=tuple(http or ()), agents=tuple(agents or ()), config=config, log=log)
    return code if isinstance(code, int) else 0


@app.command("status", help="What the server says of itself: pid, version, sockets, store.")
def status(context: typer.Context) -> int:
    session: Session = context.obj
    form = session.output("json", "yaml", "jsonpath")
    found = session.client.get(paths.SERVER)
    if form:
        emit(found, form)
        return 0
    since = World(session.now()).since(found.get("startedAt"))
    held = f", for {span(since)}" if since is not None else ""
    out(f"server runs at {session.address}, pid {found.get('pid')}{held}.")
    out()
    hidden = ("pid", "kind", "apiVersion", "metadata")
    out_lines(lines([(key, _plain(value)) for key, value in found.items() if key not in hidden]))
    return 0


@app.command("stop", help="End the server; jobs run on. Returns when it has ended.")
def stop(
    context: typer.Context,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="30s unless given")] = STOP_TIMEOUT,
) -> int:
    session: Session = context.obj
    limit = seconds(timeout)
    session.output()
    try:
        pid = session.client.get(paths.SERVER).get("pid")
    except Unreachable as error:
        if session.address.scheme != "unix" or not _absent(error):
            raise
        out(f"no server runs at {session.address}")
        return 0
    session.client.send("POST", paths.STOP, {})
    session.client.close()
    _until_gone(session, limit, pid)
    out(f"server stopped, pid {pid}")
    say("Jobs run on. Next: rmctl server")
    return 0


def _absent(error: Unreachable) -> bool:
    """Whether nobody listens, as opposed to somebody who does not answer."""
    return error.message.endswith(("no such file or directory", "connection refused"))


def _gone(session: Session, error: Unreachable, pid: object) -> bool:
    """Whether its folder is free: it shuts its doors first, merges its log, and takes the socket away last of all."""
    if session.address.scheme != "unix" or not error.message.endswith("connection refused"):
        return _absent(error)
    from agent.processes import stat

    process = stat(pid) if isinstance(pid, int) else None
    return process is None or process.state in "ZX"


def _until_gone(session: Session, timeout: float, pid: object) -> None:
    import time

    deadline = Deadline(timeout)
    while True:
        try:
            deadline.left()
            session.client.get(paths.SERVER)
            time.sleep(POLL_SECONDS)
        except TimeoutError:
            raise TimedOut(f"the server has not ended after {span(timeout)}") from None
        except CliError as error:
            if isinstance(error, Unreachable):
                if _gone(session, error, pid):
                    return
                time.sleep(POLL_SECONDS)
        finally:
            session.client.close()


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items()) or "-"
    return str(value)
