"""How the end of a process is called."""

from __future__ import annotations

import signal


def signal_name(number: object) -> str:
    """`SIGKILL`; of a number without a name, the number."""
    try:
        return signal.Signals(int(str(number))).name
    except ValueError:
        return f"signal {number}"
