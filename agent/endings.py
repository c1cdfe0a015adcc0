"""Why an instance ended, in the words that people read behind its exit code.

An end of its own needs none. Standard library only: the shim runs with nothing else at hand.
"""

from __future__ import annotations

STOPPED = "stopped as asked"
SUPERSEDED = "a newer instance took over"
FENCED = "cut off from the server"
SHIM_LOST = "its shim was killed"
RESTARTED = "node restarted"


def never_ready(grace_seconds: float, detail: str) -> str:
    return f"not ready within {grace_seconds:g} s" + (f": {detail}" if detail else "")


def not_alive(detail: str) -> str:
    return f"no longer alive: {detail}"
