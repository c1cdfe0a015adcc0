"""The print boundary: whatever leaves for a terminal goes through here, with control and bidi characters escaped."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def safe(text: str) -> str:
    """One line of text in which nothing moves the cursor, changes a colour or turns the writing around."""
    return UNSAFE.sub(_escaped, text)


def safe_lines(text: str) -> str:
    """As `safe`, with line ends and tabs kept."""
    return "\n".join("\t".join(map(safe, line.split("\t"))) for line in text.split("\n"))


def safe_json(text: str) -> str:
    """JSON text in which the same characters stand as JSON escapes, so that it stays JSON."""
    return UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def prepare() -> None:
    """Characters that a stream's encoding cannot say are escaped instead of raised."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def out(text: str = "") -> None:
    """One line of data. The text must be safe already, or is made so with `safe`."""
    sys.stdout.write(text + "\n")


def out_lines(lines: Iterable[str]) -> None:
    sys.stdout.write("".join(line + "\n" for line in lines))


def say(text: str) -> None:
    """One line of progress or advice, on stderr."""
    sys.stdout.flush()
    sys.stderr.write(safe(text) + "\n")
    sys.stderr.flush()


def warn(text: str) -> None:
    say(f"rmctl: warning: {text}")


def on_terminal() -> bool:
    """Whether a person watches stdout."""
    return sys.stdout.isatty()


def coloured() -> bool:
    return on_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def tint(text: str, code: str) -> str:
    """`text` in a colour (an SGR code), on a terminal only."""
    return f"\x1b[{code}m{text}\x1b[0m" if coloured() else text


def hush() -> None:
    """After a closed pipe: nothing more is written, not even by the interpreter on its way out."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
