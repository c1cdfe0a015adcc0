"""Starting a shim with its order, and hearing from it whether the job runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.folder import Folder

CODE = "import sys; sys.path.append(sys.argv[1]); from agent.shim import main; sys.exit(main(sys.argv[2]))"
ROOT = str(Path(__file__).resolve().parent.parent)
INTERPRETER = (sys.executable, "-I", "-S", "-X", "utf8", "-c", CODE, ROOT)
UMASK = 0o022


@dataclass(frozen=True)
class Launched:
    """`shim` is ours to reap."""

    pid: int
    shim: subprocess.Popen[bytes]


@dataclass(frozen=True)
class NotLaunched:
    """`final`: the same program would fail the same way again."""

    reason: str
    final: bool


def launch(
    folder: Folder,
    *,
    command: tuple[str, ...],
    env: Mapping[str, str],
    cwd: int,
    grace: float,
    fence: Path | None,
    group: str = "",
) -> Launched | NotLaunched:
    """Blocks until the job runs or cannot. `cwd` is an open folder, `fence` the file that bounds a job that is cut off,
    `group` the control group that bounds its memory.

    The environment goes through a pipe: it touches no disk. An agent that dies before it is through starts nothing.
    """
    lock = folder.lock()
    if lock is None:
        return NotLaunched("this instance is being started", final=False)
    try:
        order = {
            "instance": folder.path.name,
            "command": command,
            "env": dict(env),
            "cwd": cwd,
            "lock": lock,
            "grace": grace,
            "fence": None if fence is None else str(fence),
            "group": group,
            "umask": UMASK,
        }
        shim = _spawn(folder, (lock, cwd))
        assert shim.stdin is not None
        assert shim.stdout is not None
        with shim.stdin as pipe, shim.stdout as answer:
            try:
                pipe.write(json.dumps(order).encode())
                pipe.close()
            except BrokenPipeError:
                pass
            words = answer.readline()
    finally:
        os.close(lock)
    return _heard(folder, words, command[0], shim)


def _spawn(folder: Folder, keep: tuple[int, ...]) -> subprocess.Popen[bytes]:
    with (folder.path / "shim.err").open("ab") as errors:
        return subprocess.Popen(
            (*INTERPRETER, str(folder.path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={"PATH": os.defpath},
            pass_fds=keep,
            start_new_session=True,
        )


def _heard(folder: Folder, words: bytes, program: str, shim: subprocess.Popen[bytes]) -> Launched | NotLaunched:
    try:
        answer = json.loads(words)
    except ValueError:
        shim.wait()
        job = folder.job()
        if job is not None:  # it may have run, so it has: its end is found like that of any other
            return Launched(job.pid, shim)
        said = (folder.path / "shim.err").read_text(errors="replace").strip().rpartition("\n")[2]
        return NotLaunched(f"its shim ended before it could start{f': {said}' if said else ''}", final=False)
    if "pid" in answer:
        return Launched(answer["pid"], shim)
    shim.wait()
    return NotLaunched(f"{program}: {answer['error']}", answer["final"])
