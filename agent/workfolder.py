"""Where a job runs: a folder of its own below the agent's, opened step by step so that no link leads out of it."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from agent.errors import InvalidSpec
from agent.files import PRIVATE_FOLDER

OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(jobs: Path, name: str, working_dir: str) -> int:
    """A descriptor of the folder `working_dir` below the job's own, both made where missing; the caller closes it.

    Raises InvalidSpec for a path that leaves the job's folder, by its words or by a link on the way.
    """
    steps = [step for step in working_dir.split("/") if step not in ("", ".")]
    if working_dir.startswith(("/", "~")) or ".." in steps or "\0" in working_dir:
        raise InvalidSpec("workingDir: must stay inside the job directory")
    jobs.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    handle = os.open(jobs, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for step in (name, *steps):
        try:
            below = _enter(handle, step)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise InvalidSpec(f'workingDir: "{step}" is not a folder inside the job directory') from error
            if error.errno == errno.ENAMETOOLONG:
                raise InvalidSpec("workingDir: a name in it is too long") from error
            raise
        finally:
            os.close(handle)
        handle = below
    return handle


def _enter(folder: int, step: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(step, PRIVATE_FOLDER, dir_fd=folder)
    return os.open(step, OPEN, dir_fd=folder)


def remove(jobs: Path, name: str) -> None:
    """The job is gone; so is its folder. Links in it are removed, not followed."""
    shutil.rmtree(jobs / name, ignore_errors=True)
