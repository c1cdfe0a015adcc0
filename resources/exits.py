"""How the end of a process is called."""

from __future__ import annotations

NAMES = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT "
    "CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
).split()
"""Of the signals from 1 on, as Linux numbers them."""


def signal_name(number: object) -> str:
    """`SIGKILL`; of a number without a name, the number."""
    text = str(number)
    at = int(text) if text.isascii() and text.isdigit() else 0
    return f"SIG{NAMES[at - 1]}" if 1 <= at <= len(NAMES) else f"signal {number}"
