"""Ending every job of an agent's folder once the agent has ended: for demos, tests, and a node that is given up."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from agent.endings import STOPPED
from agent.folder import Folder
from agent.processes import signal_each, start_time

POLL_SECONDS = 0.02


def end_all(data: Path, *, grace: float = 5.0) -> int:
    """Blocks until no shim of this folder is left, for about `grace` seconds at most. Returns how many there were."""
    root = data / "instances"
    held = [folder for path in (root.iterdir() if root.is_dir() else ()) if (folder := Folder(path)).held()]
    for folder in held:
        folder.ask_to_stop(STOPPED, grace)
    for folder in held:
        while folder.held():
            shim = folder.shim()
            if shim is not None and start_time(shim.pid) == shim.start_time:
                signal_each([shim.pid], signal.SIGTERM)
            time.sleep(POLL_SECONDS)
    return len(held)
