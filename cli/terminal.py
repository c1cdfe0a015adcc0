"""The print boundary: whatever leaves for a terminal goes through here, with control and bidi characters escaped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def safe(text: str) -> str:
    """One line of text in which nothing moves the cursor, changes a colour or turns the writing around. Everything that
    Unicode calls control, format, surrogate or separator is escaped, but for the plain blank."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def safe_lines(text: str) -> str:
    """As `safe`, with line ends and tabs kept."""
    return "\n".join("\t".join(map(safe, line.split("\t"))) for line in text.split("\n"))


def safe_json(text: str) -> str:
    """JSON text in which the same characters stand as JSON escapes, so that it stays JSON. Only line ends are kept: in
    JSON they stand between values alone."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else _json_escaped(one) for one in text)


def _json_escaped(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + ((code - 0x10000) >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def prepare() -> None:
    """Characters that a stream's encoding cannot say are escaped instead of raised; what was closed before the start
    is written to nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
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
