"""`rmctl logs`: the last words of a job, of this attempt or the one before, kept after its end."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli import paths
from cli.errors import ServerRefused, UsageProblem
from cli.fetching import every
from cli.kinds import JOB
from cli.session import Session
from cli.targets import Target, job_words
from cli.terminal import safe_lines, say
from cli.views.wire import spec
from resources.names import ROLES, JobKey

TAIL_BYTES = 65536


def logs(
    context: typer.Context,
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="BUNDLE/ROLE/JOB, BUNDLE/JOB, or BUNDLE when it has one job")
    ],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="go on printing, until Ctrl-C")] = False,
    tail: Annotated[int | None, typer.Option(min=0, help="only the last lines")] = None,
    previous: Annotated[bool, typer.Option("--previous", help="of the attempt before this one")] = False,
    role: Annotated[str | None, typer.Option(metavar="primary|backup", help="when JOB does not say")] = None,
) -> int:
    """Print what a job wrote; control characters are escaped."""
    session: Session = context.obj
    session.output()
    if role is not None and role not in ROLES:
        raise UsageProblem(f'--role "{role}": one of {", ".join(ROLES)}')
    if follow and previous:
        raise UsageProblem("-f and --previous do not go together: what ended does not go on")
    key = _found(session, job, role)
    path = f"{paths.item(Target(JOB, key.wire), session.project)}/log"
    query = {"tailBytes": str(TAIL_BYTES), **({"previous": "true"} if previous else {})}
    if follow:
        return _follow(session, path, {**query, "follow": "true"})
    text, headers = session.client.told(path, query)
    kept = _whole_lines(text, cut="rmctl-log-truncated" in headers)
    if tail is not None:
        kept = kept[len(kept) - tail :] if tail < len(kept) else kept
    _write("".join(kept))
    if not text:
        say(f"job/{key.people} has written nothing")
    elif previous or "rmctl-log-truncated" in headers:
        more = ", its last words only" if "rmctl-log-truncated" in headers else ""
        say(f"attempt {headers.get('rmctl-log-attempt', '-')}, {headers.get('rmctl-log-instance', '-')}{more}")
    return 0


def _whole_lines(text: str, *, cut: bool) -> list[str]:
    """Without the rest of a line whose beginning is not kept, unless there is nothing else."""
    lines = text.splitlines(keepends=True)
    return lines[1:] if cut and len(lines) > 1 else lines


def _found(session: Session, word: str, role: str | None) -> JobKey:
    """The job meant. A bundle alone means its only job. Raises UsageProblem when there are several."""
    key = JobKey(*job_words(word, role))
    if key.job:
        return key
    jobs = [spec(item) for item in every(session, JOB).items]
    names = sorted(
        str(one.get("jobName")) for one in jobs if (one.get("bundle"), one.get("role")) == (key.bundle, key.role)
    )
    if len(names) == 1:
        return key._replace(job=names[0])
    if not names:
        raise ServerRefused(404, "NotFound", f'bundle "{key.bundle}": no job of it has the role {key.role}')
    raise UsageProblem(
        f"{key.bundle} has {len(names)} jobs; which: {', '.join(f'{key.bundle}/{key.role}/{n}' for n in names)}"
    )


def _follow(session: Session, path: str, query: dict[str, str]) -> int:
    for line in session.client.stream(path, query):
        _write(line.decode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    return 0


def _write(text: str) -> None:
    sys.stdout.write(safe_lines(text.replace("\r\n", "\n")))
