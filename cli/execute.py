"""`rmctl exec`: one command beside a job that runs; its output and its code become ours."""

from __future__ import annotations

import base64
import sys
from typing import Annotated

import typer

from cli import paths
from cli.durations import seconds
from cli.errors import TimedOut, UsageProblem
from cli.kinds import JOB
from cli.output import emit_json
from cli.session import Session
from cli.targets import Target, jobs
from cli.terminal import on_terminal, safe_lines, say, warn
from resources.exits import signal_name

DEFAULT_TIMEOUT = "60s"
LONGEST_SECONDS = 600.0
MAX_INPUT = 1024 * 1024
MORE_SECONDS = 45.0
"""How much longer than the command its answer may take: the node may have to connect again first."""


def execute(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="JOB -- COMMAND [ARGUMENT]...")],
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="60s unless given, at most 10m")] = DEFAULT_TIMEOUT,
    stdin: Annotated[bool, typer.Option("-i", "--stdin", help="give it what stands on stdin, at most 1 MiB")] = False,
) -> int:
    """Run a command in a job's folder, with its environment. Secrets are masked in what it prints."""
    session: Session = context.obj
    form = session.output("json")
    limit = seconds(timeout)
    if limit > LONGEST_SECONDS:
        raise UsageProblem(f"--timeout {timeout}: at most 10m")
    target, command = _parted(words)
    body = {"command": command, "timeoutSeconds": limit, "input": _given() if stdin else ""}
    path = f"{paths.item(target, session.project)}/exec"
    answer = session.client.send("POST", path, body, patience=limit + MORE_SECONDS)
    if form:
        emit_json(answer)
    else:
        _write(sys.stdout, str(answer.get("stdout") or ""), raw=not on_terminal())
        _write(sys.stderr, str(answer.get("stderr") or ""), raw=not sys.stderr.isatty())
        if answer.get("truncated"):
            warn("the output is cut at 512 KiB")
    if answer.get("timedOut"):
        raise TimedOut(f"{command[0]} has not ended after {timeout}; it was killed")
    if answer.get("signal"):
        say(f"rmctl: {command[0]} was ended by {signal_name(answer['signal'])}")
        return 128 + int(answer["signal"])
    return int(answer.get("code") or 0)


def _parted(words: list[str]) -> tuple[Target, list[str]]:
    about = 2 if words[0] in (JOB.name, JOB.plural, *JOB.short) else 1
    command = words[about:]
    if not command:
        raise UsageProblem("a command is needed: rmctl exec BUNDLE/ROLE/JOB -- COMMAND")
    return jobs(words[:about])[0], command


def _given() -> str:
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise UsageProblem("stdin: at most 1 MiB")
    return base64.b64encode(data).decode()


def _write(stream: object, text: str, *, raw: bool) -> None:
    """Byte by byte into a file or a pipe; a terminal gets control characters escaped."""
    data = base64.b64decode(text)
    if not data:
        return
    buffer = getattr(stream, "buffer", None)
    stream.flush()  # type: ignore[attr-defined]
    if raw and buffer is not None:
        buffer.write(data)
        buffer.flush()
    else:
        stream.write(safe_lines(data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")))  # type: ignore[attr-defined]
