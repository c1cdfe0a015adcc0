"""What people read about a job: no name (the reader knows it), no ages (they would be wrong a second later)."""

from __future__ import annotations

from datetime import UTC, datetime

from resources.exits import signal_name
from resources.facts import Instance
from resources.job import Job, JobStatus, LastExit
from resources.names import job_key

RECOVERING = "recovering from this node"
REFUSED = "refused the start: "


def exit_words(code: int | None, signal_number: int | None) -> str:
    """`exit 3`, `SIGKILL`, or that nothing is known."""
    if signal_number is not None:
        return signal_name(signal_number)
    return "ended in an unknown way" if code is None else f"exit {code}"


def how_it_ended(row: Instance) -> str:
    """`exit 3`, and why its agent ended it where that is not the exit itself."""
    words = exit_words(row.code, row.signal)
    return f"{words}: {row.reason}" if row.reason and row.reason != words else words


def last_words(end: LastExit) -> str:
    """`exit 1 after 2.5 s`, or why nothing is known of its exit."""
    unknown = end.code is None and end.signal is None
    words = end.reason if unknown and end.reason else exit_words(end.code, end.signal)
    why = f": {end.reason}" if end.reason and end.reason != words else ""
    return f"{words} after {span(end.ran_seconds)}{why}"


def span(seconds: float) -> str:
    """A length of time: `2.5 s`, `41m`, `3h12m`."""
    if seconds < 60:
        return f"{round(seconds, 1):g} s"
    minutes = int(seconds // 60)
    return f"{minutes}m" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def clock(at: float) -> str:
    """`14:02:47Z`"""
    return datetime.fromtimestamp(int(at), UTC).strftime("%H:%M:%SZ")


def past_ceiling(how: str, allowed: int, made: tuple[float, ...]) -> str:
    times = ", ".join(clock(at) for at in made)
    used = f"all {allowed} restarts of the last hour are used ({times})" if made else "no restart is allowed"
    return f"RestartCeiling: {how}; {used}"


def words_of(terminal: str) -> str:
    """What stands behind the reason of a terminal verdict."""
    return terminal.partition(": ")[2]


def reason_of(terminal: str) -> str:
    return terminal.partition(": ")[0]


def bundle_of(job: Job) -> str:
    return f"bundle/{job.spec.bundle}"


def people(job: Job) -> str:
    """`ch-1/primary/encode`"""
    key = job_key(job.name)
    return job.name if key is None else key.people


def waiting_for_start(job: Job, status: JobStatus) -> str:
    """Between an end and the next start."""
    at = f"next start at {clock(status.next_start_at or 0)}"
    if (status.excluded_reason or "").startswith(REFUSED):
        return f"is placed again: {status.excluded_node} {status.excluded_reason}, {at}"
    end = "ended" if status.last_exit is None else last_words(status.last_exit)
    begin = "keeps crashing: " if status.consecutive_failures > 1 else "recovers: "
    used, allowed = status.restarts.last_hour, status.restarts.ceiling or 0
    count = f"{used} of {allowed} restarts used"
    if used + 1 >= allowed:
        breaks = f"breaks {bundle_of(job)}" if job.spec.requirements.essential else "drops it"
        return f"{begin}{end}, {at}. {count}: one more exit {breaks}."
    return f"{begin}{end}, {at}. {count}."
