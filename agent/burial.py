"""The end of an instance whose shim is gone: what it wrote, or what can still be found out, with nothing left alive."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict

from agent.endings import RESTARTED, SHIM_LOST
from agent.files import replace_json
from agent.folder import ExitFile, Folder, JobFile
from agent.processes import boot_id, boottime, lives, marker, members, signal_each, start_time

SCAN_SECONDS = 0.02


def bury(folder: Folder) -> ExitFile:
    """Blocks until no process of the instance is left. Its end is on disk when this returns."""
    written = folder.exit()
    if written is not None:
        return written
    job, shim = folder.job(), folder.shim()
    if shim is not None and shim.boot_id != boot_id():
        end = _rebooted(job)
    else:
        _end_what_is_left(folder.path.name, job)
        ran = 0.0 if job is None else max(0.0, boottime() - job.started)
        end = ExitFile(None, int(signal.SIGKILL), time.time(), ran, SHIM_LOST)
    replace_json(folder.path / "exit.json", asdict(end))
    return end


def _rebooted(job: JobFile | None) -> ExitFile:
    """It ended with the machine; nobody saw when, but before this boot."""
    at = time.time() - boottime()
    return ExitFile(None, None, at, 0.0 if job is None else max(0.0, at - job.at), RESTARTED)


def _end_what_is_left(instance: str, job: JobFile | None) -> None:
    """Without the shim its descendants are known by the job's pid, session and mark only."""
    mark = marker(instance)
    ours = job is not None and start_time(job.pid) in (None, job.start_time)
    session = job.pid if job is not None and ours else None
    while True:
        left = members(mark, session=session)
        if job is not None and lives(job.pid, job.start_time):
            left.append(job.pid)
        if not left:
            return
        signal_each(left, signal.SIGKILL)
        time.sleep(SCAN_SECONDS)
